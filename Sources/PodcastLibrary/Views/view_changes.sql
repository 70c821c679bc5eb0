-- Temporary tables, and triggers that record in them the episodes that a transaction has changed, directly or by a
-- change of their renditions, shows or tags.
--
-- No trigger records new episodes, since it would make their insertion slower. They are found by their ids, which
-- are greater than `last` in `known_episode`, because SQLite never reuses an id of `episode` (AUTOINCREMENT).
CREATE TEMP TABLE changed_episode (id INTEGER PRIMARY KEY);
CREATE TEMP TABLE changed_title (id INTEGER PRIMARY KEY);
CREATE TEMP TABLE known_episode (last INTEGER NOT NULL);
INSERT INTO known_episode SELECT coalesce(max(id), 0) FROM main.episode;
CREATE TEMP TRIGGER view_updated
AFTER UPDATE OF name, title, moment, duration, type, buried, played, position, pinned, last_played
ON main.episode
WHEN (old.name, old.title, old.moment, old.duration, old.type, old.buried, old.played, old.position,
        old.pinned, old.last_played)
    IS NOT (new.name, new.title, new.moment, new.duration, new.type, new.buried, new.played, new.position,
        new.pinned, new.last_played)
BEGIN
    INSERT OR IGNORE INTO changed_episode VALUES (new.id);
END;
CREATE TEMP TRIGGER view_retitled AFTER UPDATE OF title ON main.episode WHEN old.title IS NOT new.title BEGIN
    INSERT OR IGNORE INTO changed_title VALUES (new.id);
END;
CREATE TEMP TRIGGER view_deleted AFTER DELETE ON main.episode BEGIN
    INSERT OR IGNORE INTO changed_episode VALUES (old.id);
    INSERT OR IGNORE INTO changed_title VALUES (old.id);
END;
CREATE TEMP TRIGGER view_stored AFTER INSERT ON main.rendition WHEN new.complete BEGIN
    INSERT OR IGNORE INTO changed_episode VALUES (new.episode);
END;
CREATE TEMP TRIGGER view_completed AFTER UPDATE OF complete ON main.rendition
WHEN old.complete IS NOT new.complete BEGIN
    INSERT OR IGNORE INTO changed_episode VALUES (new.episode);
END;
CREATE TEMP TRIGGER view_dropped AFTER DELETE ON main.rendition WHEN old.complete BEGIN
    INSERT OR IGNORE INTO changed_episode VALUES (old.episode);
END;
CREATE TEMP TRIGGER view_subscribed AFTER UPDATE OF ephemeral, name, title ON main.podcast
WHEN (old.ephemeral, old.name, old.title) IS NOT (new.ephemeral, new.name, new.title) BEGIN
    INSERT OR IGNORE INTO changed_episode SELECT id FROM episode WHERE podcast = new.id;
    INSERT OR IGNORE INTO changed_title
        SELECT id FROM episode WHERE podcast = new.id AND old.ephemeral AND NOT new.ephemeral;
END;
CREATE TEMP TRIGGER view_tagged AFTER INSERT ON main.show_tag BEGIN
    INSERT OR IGNORE INTO changed_episode SELECT id FROM episode WHERE podcast = new.podcast;
END;
CREATE TEMP TRIGGER view_untagged AFTER DELETE ON main.show_tag BEGIN
    INSERT OR IGNORE INTO changed_episode SELECT id FROM episode WHERE podcast = old.podcast;
END;
