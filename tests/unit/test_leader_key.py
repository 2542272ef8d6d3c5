from __future__ import annotations

from pgq_ops.leader.key import lock_key


def test_keys_are_the_same_in_every_process_and_fit_a_bigint() -> None:
    assert lock_key(4711, "manage") == -8812707984469469483
    keys = {lock_key(oid, mode) for oid in range(2000) for mode in ("observe", "manage")}
    assert len(keys) == 4000
    assert min(keys) < 0 < max(keys)
    assert all(-(2**63) <= key < 2**63 for key in keys)
