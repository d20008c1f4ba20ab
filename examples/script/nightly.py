"""A script that cron starts: one transaction, instrumented in code."""

import os
from typing import Any
from urllib.parse import urlsplit

import pymysql
import walltime

url = urlsplit(os.environ.get("MYSQL_URL", "mysql://shop:shop@127.0.0.1:3306/shop"))
MYSQL: dict[str, Any] = {"host": url.hostname, "port": url.port, "user": url.username, "password": url.password}

walltime.configure(service_name="nightly")
walltime.instrument()


@walltime.transaction("recount")
def recount() -> None:
    with pymysql.connect(**MYSQL, database="shop", autocommit=True) as connection:
        cursor = connection.cursor()
        cursor.execute("CREATE TABLE IF NOT EXISTS stock (product INT PRIMARY KEY, count INT)")
        for product in range(20):
            with walltime.component("count"):
                count = product**2
            cursor.execute("REPLACE INTO stock VALUES (%s, %s)", (product, count))


recount()
