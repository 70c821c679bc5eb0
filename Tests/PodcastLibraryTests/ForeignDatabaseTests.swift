import Foundation
import GRDB
import Testing

@testable import PodcastLibrary

/// The databases of gPodder and AntennaPod, with the columns that podfs reads.
struct ForeignDatabaseTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func database(_ sql: String) throws -> String {
        let path = folder.path + "/Database"
        try DatabaseQueue(path: path).write { try $0.execute(sql: sql) }
        return path
    }

    @Test func gPoddersFilesMarksAndPositionsAreRead() throws {
        let path = try database(
            """
            CREATE TABLE podcast (id INTEGER PRIMARY KEY, url TEXT, title TEXT, download_folder TEXT);
            CREATE TABLE episode (id INTEGER PRIMARY KEY, podcast_id INTEGER, title TEXT, url TEXT, guid TEXT,
                state INTEGER, is_new INTEGER, download_filename TEXT, total_time INTEGER, current_position INTEGER);
            INSERT INTO podcast VALUES (1, 'https://e.com/feed', 'Owls', 'Owls');
            INSERT INTO episode VALUES
                (1, 1, 'a', 'https://e.com/1.mp3', 'g1', 1, 0, '1.mp3', 600, 30),
                (2, 1, 'b', 'https://e.com/2.mp3', 'g2', 1, 1, '2.mp3', 600, 90),
                (3, 1, 'c', 'https://e.com/3.mp3', 'g3', 2, 1, NULL, 600, 595),
                (4, 1, 'd', 'https://e.com/4.mp3', 'g4', 0, 0, NULL, 0, 0);
            """)
        let records = try ForeignDatabase.records(at: path)
        #expect(records.map(\.file) == ["Owls/1.mp3", "Owls/2.mp3", nil, nil])
        #expect(records.map(\.played) == [true, false, true, false])
        #expect(records.map(\.position) == [30, 90, nil, nil])
        #expect(
            records[1]
                == ForeignRecord(
                    program: "gPodder", feed: "https://e.com/feed", guid: "g2", url: "https://e.com/2.mp3",
                    file: "Owls/2.mp3", position: 90))
    }

    @Test func antennaPodsFilesMarksAndPositionsAreRead() throws {
        let path = try database(
            """
            CREATE TABLE Feeds (id INTEGER PRIMARY KEY, title TEXT, download_url TEXT);
            CREATE TABLE FeedItems (id INTEGER PRIMARY KEY, feed INTEGER, read INTEGER, item_identifier TEXT);
            CREATE TABLE FeedMedia (id INTEGER PRIMARY KEY, feeditem INTEGER, file_url TEXT, download_url TEXT,
                position INTEGER);
            INSERT INTO Feeds VALUES (1, 'Owls', 'https://e.com/feed');
            INSERT INTO FeedItems VALUES (1, 1, 1, 'g1'), (2, 1, -1, 'g2');
            INSERT INTO FeedMedia VALUES
                (1, 1, '/storage/emulated/0/Android/data/de.danoeh.antennapod/files/media/Owls/A.mp3',
                    'https://e.com/1.mp3', 0), (2, 2, NULL, 'https://e.com/2.mp3', 61500);
            """)
        let records = try ForeignDatabase.records(at: path)
        #expect(records.map(\.file) == ["Owls/A.mp3", nil])
        #expect(records.map(\.played) == [true, false])
        #expect(records.map(\.position) == [nil, 61.5])
        #expect(records.map(\.guid) == ["g1", "g2"])
    }

    @Test func otherFilesAreRefused() throws {
        let other = try database("CREATE TABLE songs (id INTEGER PRIMARY KEY);")
        #expect(throws: ForeignDatabase.Failure.self) { try ForeignDatabase.records(at: other) }
        #expect(throws: ForeignDatabase.Failure.self) { try ForeignDatabase.records(at: folder.path + "/absent") }
        let text = folder.path + "/text"
        try "<opml></opml>, which is long enough to be no database at all".write(
            toFile: text, atomically: true, encoding: .utf8)
        #expect(throws: ForeignDatabase.Failure.self) { try ForeignDatabase.records(at: text) }
    }
}
