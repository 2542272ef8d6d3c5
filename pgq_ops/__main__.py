from pgq_ops.cli.app import main

if __name__ == "__main__":
    main()
