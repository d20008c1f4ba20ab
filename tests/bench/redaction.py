"""
What redaction costs: µs a KB of statements as applications send them, and of the worst texts we know.

    python -m tests.bench.redaction

CPU time of one thread, the least of interleaved rounds, nothing cached. Statements as an ORM writes them are
below; others come from the grammar of the tests and, where there are any, from real slow logs.
"""

# ruff: noqa: E501  # statements as they are

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Final

import walltime.redaction.redact
from walltime_collector.observe.slowlog.parser import Parser

from tests.bench.machine import machine
from tests.sdk.redaction.hostile import HOSTILE
from tests.sdk.redaction.sql_grammar import DIALECTS, Grammar

SLOW_LOGS: Final = Path(__file__).parents[3] / "shared" / "data" / "slowlogs"
ROUNDS: Final = 15
SHORT_CHARS: Final = 100
"""A shorter statement's cost is that of the calls, whatever its length."""

APPLICATIONS: Final = [
    "SELECT `shop_product`.`id`, `shop_product`.`name`, `shop_product`.`slug`, `shop_product`.`price`, `shop_category`.`id`,"
    " `shop_category`.`name` FROM `shop_product` INNER JOIN `shop_category` ON (`shop_product`.`category_id` = "
    "`shop_category`.`id`) WHERE (`shop_product`.`is_active` AND `shop_category`.`slug` = %s) ORDER BY `shop_product`.`name`",
    "SELECT `django_session`.`session_key`, `django_session`.`session_data`, `django_session`.`expire_date` FROM "
    "`django_session` WHERE (`django_session`.`expire_date` > %s AND `django_session`.`session_key` = %s) LIMIT 21",
    "INSERT INTO `shop_order` (`user_id`, `created_at`, `total`, `status`) VALUES (%s, %s, %s, %s)",
    "SELECT users.id AS users_id, users.name AS users_name, users.fullname AS users_fullname, addresses_1.id AS "
    "addresses_1_id, addresses_1.email AS addresses_1_email \nFROM users LEFT OUTER JOIN addresses AS addresses_1 ON "
    "users.id = addresses_1.user_id \nWHERE users.name = %(name_1)s \n LIMIT %(param_1)s",
    "SELECT anon_1.users_id AS anon_1_users_id, anon_1.cnt AS anon_1_cnt FROM (SELECT users.id AS users_id, "
    "count(%(count_2)s) AS cnt FROM users GROUP BY users.id HAVING count(users.id) > %(count_1)s) AS anon_1",
    "SELECT p.id, p.name, s.stock FROM product p JOIN stock s ON s.product_id = p.id WHERE p.category = %s AND p.price "
    "BETWEEN %s AND %s ORDER BY p.price LIMIT 20",
    "SELECT t.*, tt.* FROM wp_terms AS t INNER JOIN wp_term_taxonomy AS tt ON t.term_id = tt.term_id WHERE tt.taxonomy IN "
    "('category', 'post_tag', 'post_format') AND t.term_id IN (1,2,3,45,56,789) ORDER BY t.name ASC",
    "SELECT post_id, meta_key, meta_value FROM wp_postmeta WHERE post_id IN (1017, 1018, 1019, 1020, 1031, 1032, 1033, 1050)"
    " ORDER BY meta_id ASC",
    "UPDATE `wp_options` SET `option_value` = '1795251600.1795', `autoload` = 'no' WHERE `option_name` = '_transient_doing'",
    "CREATE TABLE `t` (\n  `id` bigint(20) unsigned NOT NULL AUTO_INCREMENT,\n  `name` varchar(255) NOT NULL DEFAULT '',\n"
    "  `at` datetime(6) NOT NULL,\n  PRIMARY KEY (`id`),\n  KEY `idx_at` (`at`)\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
    "SELECT \"users\".\"id\", \"users\".\"name\", \"users\".\"email\" FROM \"users\" WHERE \"users\".\"id\" = $1 LIMIT $2",
]  # fmt: skip


def cpu_us(redact: Callable[[str], str], texts: Sequence[str]) -> list[float]:
    """The least CPU of each text over the rounds."""
    least = [float("inf")] * len(texts)
    for _ in range(ROUNDS):
        for n, text in enumerate(texts):
            times = 1 + 3000 // (len(text) + 100)
            began_ns = time.thread_time_ns()
            for _ in range(times):
                redact(text)
            least[n] = min(least[n], (time.thread_time_ns() - began_ns) / times / 1000)
    return least


def logged() -> list[str]:
    """The statements of the slow logs, each once."""
    entries = [entry for path in sorted(SLOW_LOGS.glob("*.txt")) for entry in Parser().feed(path.read_bytes())]
    return sorted({entry.statement for entry in entries})


def generated(*, is_plain: bool) -> list[str]:
    grammars = [Grammar(dialect, seed=3, is_plain=is_plain) for dialect in DIALECTS]
    return [grammar.statement()[0] for grammar in grammars for _ in range(100)]


def main() -> None:
    redact = walltime.redaction.redact._redact_text.__wrapped__  # type: ignore[attr-defined]  # without its cache
    print(machine())
    for name, texts in (
        ("as applications write them", APPLICATIONS),
        ("of slow logs", logged()),
        ("generated, read alike everywhere", generated(is_plain=True)),
        ("generated, hostile", generated(is_plain=False)),
    ):
        least_us = cpu_us(redact, texts)
        per_kb = [us / len(text) * 1024 for us, text in zip(least_us, texts, strict=True) if len(text) >= SHORT_CHARS]
        if per_kb:
            print(f"{name}: {len(per_kb)} of {SHORT_CHARS} characters or more, median {median(per_kb):.1f} µs/KB")
        short_us = [us for us, text in zip(least_us, texts, strict=True) if len(text) < SHORT_CHARS]
        if short_us:
            print(f"{name}: {len(short_us)} shorter ones, median {median(short_us):.2f} µs each")
    gc.disable()
    for chars in (walltime.redaction.redact.MAX_SQL_CHARS, 100_000):
        walltime.redaction.redact.MAX_SQL_CHARS = chars  # type: ignore[misc]  # what is cut off costs nothing
        worst = sorted(
            ((us, piece) for piece in HOSTILE for us in cpu_us(redact, [(piece * chars)[:chars]])), reverse=True
        )
        print(
            f"hostile, {chars:,} characters: " + ", ".join(f"{piece!r} {us / 1000:.1f} ms" for us, piece in worst[:4])
        )


if __name__ == "__main__":
    main()
