-- The shop's tables. Statements end with a semicolon at the end of a line; seed.py runs them one by one.
CREATE TABLE categories
(
    id INT PRIMARY KEY,
    name VARCHAR(80) NOT NULL
);

CREATE TABLE makers
(
    id INT PRIMARY KEY,
    name VARCHAR(80) NOT NULL,
    country CHAR(2) NOT NULL
);

CREATE TABLE products
(
    id INT PRIMARY KEY,
    category_id INT NOT NULL,
    maker_id INT NOT NULL,
    name VARCHAR(120) NOT NULL,
    description TEXT NOT NULL,
    price_cents INT NOT NULL,
    stock INT NOT NULL,
    KEY in_category (category_id),
    FOREIGN KEY (category_id) REFERENCES categories (id),
    FOREIGN KEY (maker_id) REFERENCES makers (id)
);

CREATE TABLE users
(
    id INT PRIMARY KEY,
    name VARCHAR(80) NOT NULL,
    email VARCHAR(120) NOT NULL UNIQUE
);

CREATE TABLE reviews
(
    id INT PRIMARY KEY,
    product_id INT NOT NULL,
    user_id INT NOT NULL,
    stars TINYINT NOT NULL,
    body VARCHAR(500) NOT NULL,
    KEY of_product (product_id),
    FOREIGN KEY (product_id) REFERENCES products (id),
    FOREIGN KEY (user_id) REFERENCES users (id)
);

CREATE TABLE questions
(
    id INT PRIMARY KEY,
    product_id INT NOT NULL,
    question VARCHAR(200) NOT NULL,
    answer VARCHAR(500) NOT NULL,
    KEY about_product (product_id),
    FOREIGN KEY (product_id) REFERENCES products (id)
);

CREATE TABLE carts
(
    user_id INT PRIMARY KEY,
    changed_at DATETIME NOT NULL,
    FOREIGN KEY (user_id) REFERENCES users (id)
);

CREATE TABLE cart_items
(
    user_id INT NOT NULL,
    product_id INT NOT NULL,
    quantity INT NOT NULL,
    PRIMARY KEY (user_id, product_id),
    FOREIGN KEY (user_id) REFERENCES carts (user_id),
    FOREIGN KEY (product_id) REFERENCES products (id)
);

CREATE TABLE orders
(
    id INT PRIMARY KEY AUTO_INCREMENT,
    user_id INT NOT NULL,
    placed_at DATETIME NOT NULL,
    total_cents INT NOT NULL,
    KEY of_user (user_id),
    FOREIGN KEY (user_id) REFERENCES users (id)
);

CREATE TABLE order_items
(
    order_id INT NOT NULL,
    product_id INT NOT NULL,
    quantity INT NOT NULL,
    price_cents INT NOT NULL,
    PRIMARY KEY (order_id, product_id),
    KEY of_product (product_id),
    FOREIGN KEY (order_id) REFERENCES orders (id),
    FOREIGN KEY (product_id) REFERENCES products (id)
);
