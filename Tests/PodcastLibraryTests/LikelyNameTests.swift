import Testing

@testable import PodcastLibrary

/// Names that a person has typed inexactly.
struct LikelyNameTests {
    private let names = ["Owls & Co", "Hard Fork & Friends", "Der Küchenfunk", "The Daily", "99% Invisible"]

    @Test(arguments: [
        ("Oels", "Owls & Co"), ("Hard Frok", "Hard Fork & Friends"), ("kuchen", "Der Küchenfunk"),
        ("Küchenfnuk", "Der Küchenfunk"), ("owls and co", "Owls & Co"), ("the dayly", "The Daily"),
        ("invisble", "99% Invisible"), ("friend", "Hard Fork & Friends"), ("hardfork", "Hard Fork & Friends"),
    ]) func aMisspelledNameOrWordIsRecognized(typed: String, name: String) {
        #expect(LikelyName.nearest(to: typed, in: names) == name)
    }

    @Test(arguments: ["Zebra", "x", "", "co", "12345", "completely different"]) func anotherNameIsNot(typed: String) {
        #expect(LikelyName.nearest(to: typed, in: names) == nil)
    }

    @Test func theWholeNameWinsOverAPart() {
        #expect(LikelyName.nearest(to: "wols", in: ["Wolves and owls", "Owls"]) == "Owls")
        #expect(LikelyName.nearest(to: "template", in: ["names.templates", "names.template"]) == "names.template")
        #expect(LikelyName.nearest(to: "lits", in: ["set", "list", "evict"]) == "list")
    }

    @Test func aPartIsFoundWithoutCaseAndAccents() {
        #expect(LikelyName.contains("kuchen", in: "Der Küchenfunk"))
        #expect(LikelyName.contains("FORK FRIENDS", in: "Hard Fork & Friends"))
        #expect(!LikelyName.contains("owlsco", in: "Owls & Co"))
        #expect(!LikelyName.contains("&", in: "Owls & Co"))
    }
}
