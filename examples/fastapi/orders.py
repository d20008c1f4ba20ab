"""Orders from MySQL by SQLAlchemy and asyncmy; their prices come over HTTP. `python orders.py` fills the table."""

import asyncio
import os

import httpx
from fastapi import FastAPI, HTTPException, Request
from sqlalchemy import select
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

MYSQL = os.environ.get("MYSQL_URL", "mysql://shop:shop@127.0.0.1:3306/shop")
engine = create_async_engine(MYSQL.replace("mysql:", "mysql+asyncmy:", 1))
sessions = async_sessionmaker(engine)
client = httpx.AsyncClient()
app = FastAPI()


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "fastapi_orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    lamps: Mapped[int]


@app.get("/order/{number}")
async def order(request: Request, number: int) -> dict[str, int]:
    async with sessions() as session:
        found = await session.scalar(select(Order).where(Order.id == number))
    if found is None:
        raise HTTPException(404)
    price = await client.get(str(request.url_for("price", lamps=found.lamps)))
    return {"lamps": found.lamps, "cents": price.json()}


@app.get("/price/{lamps}")
async def price(lamps: int) -> int:
    await asyncio.sleep(0.01)
    return lamps * 1999


async def fill() -> None:
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    async with sessions.begin() as session:
        session.add_all(Order(lamps=number) for number in range(1, 11))
    await engine.dispose()


if __name__ == "__main__":
    asyncio.run(fill())
