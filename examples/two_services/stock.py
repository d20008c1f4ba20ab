"""How many of a product are left, from MySQL."""

import os
from typing import Any
from urllib.parse import urlsplit

import pymysql
from flask import Flask

url = urlsplit(os.environ.get("MYSQL_URL", "mysql://shop:shop@127.0.0.1:3306/shop"))
MYSQL: dict[str, Any] = {"host": url.hostname, "port": url.port, "user": url.username, "password": url.password}
app = Flask(__name__)


@app.get("/stock/<int:number>")
def stock(number: int) -> str:
    with pymysql.connect(**MYSQL) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT SLEEP(IF(%s = 10, 1, 0.02)), %s * 3", (number, number))  # number 10 is slow
        _, left = cursor.fetchone()
    return str(left)
