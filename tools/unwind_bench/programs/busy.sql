-- One round of joins, sorting, grouping, text and an index that grows; read again and again.
DROP TABLE IF EXISTS item;
CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, part INTEGER, weight REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
INSERT INTO item SELECT i, printf('item %05d', i * 7919 % 20000), i % 97, i / 3.0 FROM n;
CREATE INDEX by_name ON item (name);
SELECT part, count(*), sum(weight), group_concat(substr(name, 6, 2)) FROM item GROUP BY part;
SELECT count(*) FROM item a JOIN item b ON a.name = b.name WHERE a.part < b.id;
SELECT count(*) FROM (SELECT * FROM item WHERE name LIKE '%7%' ORDER BY weight DESC, name);
UPDATE item SET name = upper(name) || part WHERE part % 3 = 0;
