// The elements of Podcasting 2.0 (https://podcasting2.org/podcast-namespace).
extension FeedRules {
    mutating func addPodcastingOfShows() {
        addText(Self.shows, .podcast, "guid") { $0.show.feed.guid = $0.show.feed.guid ?? FeedValues.string($1) }
        addText(Self.shows, .podcast, "medium") {
            $0.show.feed.medium = $0.show.feed.medium ?? FeedValues.string($1)?.lowercased()
        }
        addTag(Self.shows, .podcast, "podping") { $0.show.feed.usesPodping = $1.flag("usesPodping") }
        addTag(Self.shows, .podcast, "liveitem", inside: .item, as: .item) { $0.startLiveItem($1) }
        addElement(Self.shows, .podcast, "updatefrequency") { reader, tag in
            let rule = tag.value("rrule")
            reader.show.schedule.rule = rule.flatMap(PublishingInterval.seconds) ?? reader.show.schedule.rule
            if tag.flag("complete") == true { reader.show.feed.isComplete = true }
            let (written, start) = (reader.word(rule), tag.date("dtstart"))
            return { reader, text in
                let update = UpdateRule(rule: written, start: start, text: FeedValues.line(text))
                reader.show.feed.updateRule = reader.show.feed.updateRule ?? update
            }
        }
        addElement(Self.shows, .podcast, "locked") { reader, tag in
            let owner = reader.line(tag.value("owner"))
            return { reader, text in
                reader.show.feed.isLocked = reader.show.feed.isLocked ?? FeedValues.boolean(text.trimmed)
                reader.show.feed.lockedOwner = reader.show.feed.lockedOwner ?? owner
            }
        }
        addElement(Self.shows, .podcast, "funding") { reader, tag in
            guard let address = reader.url(tag.value("url")) else { return nil }
            return { reader, text in
                let funding = WebLink(url: address, title: FeedValues.line(text))
                reader.show.feed.funding.add(funding, limit: reader.limits.entries)
            }
        }
        addElement(Self.shows, .podcast, "trailer") { reader, tag in
            guard let address = reader.url(tag.value("url")) else {
                reader.diagnose("a trailer has no URL and is ignored")
                return nil
            }
            let media = Enclosure(url: address, length: tag.length("length"), type: tag.type("type"))
            let (published, season) = (tag.date("pubdate"), tag.wholeNumber("season"))
            return { reader, text in
                let title = FeedValues.line(text)
                reader.show.feed.trailers.add(
                    Trailer(media: media, title: title, published: published, season: season),
                    limit: reader.limits.entries)
            }
        }
        addElement(Self.shows, .podcast, "block") { reader, tag in
            let platform = reader.word(tag.value("id"))
            return { reader, text in
                guard let isBlocked = FeedValues.boolean(text.trimmed) else { return }
                let block = PlatformBlock(platform: platform, isBlocked: isBlocked)
                reader.show.feed.blocks.add(block, limit: reader.limits.entries)
            }
        }
        add(Self.shows, .podcast, "podroll", inside: .podroll, nil)
        addTag([.podroll], .podcast, "remoteitem") { reader, tag in
            guard let item = reader.remoteItem(tag) else { return }
            reader.show.feed.podroll.add(item, limit: reader.limits.entries)
        }
        add(Self.shows, .podcast, "publisher", inside: .publisher, nil)
        addTag([.publisher], .podcast, "remoteitem") {
            $0.show.feed.publisher = $0.show.feed.publisher ?? $0.remoteItem($1)
        }
    }

    mutating func addPodcastingOfEpisodes() {
        addElement(Self.episodes, .podcast, "season") { reader, tag in
            reader.current.item.seasonName = reader.current.item.seasonName ?? reader.line(tag.value("name"))
            return reader.ranks.wants(.season, 0) ? FeedElement.setting(.season, 0) : nil
        }
        addElement(Self.episodes, .podcast, "episode") { reader, tag in
            let display = reader.current.item.episodeDisplay ?? reader.line(tag.value("display"))
            reader.current.item.episodeDisplay = display
            return reader.ranks.wants(.episode, 0) ? FeedElement.setting(.episode, 0) : nil
        }
        addTag(Self.episodes, .podcast, "transcript") { reader, tag in
            guard let address = reader.url(tag.value("url")) else { return }
            let transcript = Transcript(
                url: address, type: tag.type("type"), language: reader.word(tag.value("language")),
                relation: reader.keyword(tag.value("rel")))
            reader.current.item.transcripts.add(transcript, limit: reader.limits.entries)
        }
        addTag(Self.episodes, .podcast, "chapters") {
            $0.current.item.chaptersURL = $0.current.item.chaptersURL ?? $0.url($1.value("url"))
        }
        addElement(Self.episodes, .podcast, "soundbite") { reader, tag in
            guard let start = tag.seconds("startTime"), let duration = tag.seconds("duration"), duration > 0 else {
                reader.diagnose("a soundbite has no readable start or duration and is ignored")
                return nil
            }
            return { reader, text in
                guard reader.isInItem else { return }
                let soundbite = Soundbite(start: start, duration: duration, title: FeedValues.line(text))
                reader.current.item.soundbites.add(soundbite, limit: reader.limits.entries)
            }
        }
        addTag(Self.episodes, .podcast, "alternateenclosure", inside: .alternateEnclosure) { $0.startAlternate($1) }
        addTag([.alternateEnclosure], .podcast, "source") { $0.startAlternateSource($1) }
        addTag([.alternateEnclosure], .podcast, "integrity") { $0.startIntegrity($1) }
    }

    mutating func addPodcastingOfBoth() {
        addTag(Self.showsAndEpisodes, .podcast, "remoteitem") { reader, tag in
            guard let item = reader.remoteItem(tag) else { return }
            reader.withTags { $0.remoteItems.add(item, limit: $1) }
        }
        addElement(Self.showsAndEpisodes, .podcast, "location") { reader, tag in
            let location = Location(
                name: "", relation: reader.keyword(tag.value("rel")), geo: reader.word(tag.value("geo")),
                osm: reader.word(tag.value("osm")), country: reader.word(tag.value("country"))?.uppercased())
            return { reader, text in
                var location = location
                guard let name = FeedValues.line(text) ?? location.geo else { return }
                location.name = name
                reader.withTags { $0.locations.add(location, limit: $1) }
            }
        }
        addElement(Self.showsAndEpisodes, .podcast, "license") { reader, tag in
            let address = reader.url(tag.value("url"))
            return { reader, text in
                guard let name = FeedValues.line(text) ?? address else { return }
                reader.withTags { tags, _ in tags.license = tags.license ?? License(name: name, url: address) }
            }
        }
        addElement(Self.showsAndEpisodes, .podcast, "txt") { reader, tag in
            let purpose = reader.word(tag.value("purpose"))
            return { reader, text in
                guard let text = FeedValues.string(text) else { return }
                reader.withTags { $0.texts.add(TextRecord(text: text, purpose: purpose), limit: $1) }
            }
        }
        addTag(Self.showsAndEpisodes, .podcast, "chat") { reader, tag in
            guard let server = reader.line(tag.value("server")) else { return }
            let chat = Chat(
                server: server, network: reader.keyword(tag.value("protocol")),
                accountID: reader.line(tag.value("accountId")), space: reader.line(tag.value("space")))
            reader.withTags { $0.chats.add(chat, limit: $1) }
        }
        addTag(Self.showsAndEpisodes, .podcast, "socialinteract") { reader, tag in
            guard let network = reader.keyword(tag.value("protocol")) else { return }
            let interact = SocialInteract(
                network: network, url: reader.url(tag.value("uri")), accountID: reader.line(tag.value("accountId")),
                accountURL: reader.url(tag.value("accountUrl")), priority: tag.wholeNumber("priority"))
            guard interact.url != nil || network == "disabled" else { return }
            reader.withTags { $0.socialInteracts.add(interact, limit: $1) }
        }
        addElement(Self.showsAndEpisodes, .podcast, "contentlink") { reader, tag in
            guard let address = reader.url(tag.value("href")) else { return nil }
            return { reader, text in
                let link = WebLink(url: address, title: FeedValues.line(text))
                reader.withTags { $0.contentLinks.add(link, limit: $1) }
            }
        }
        addElement(Self.showsAndEpisodes, .podcast, "person") { reader, tag in
            let person = Person(
                name: "", role: reader.line(tag.value("role"))?.lowercased() ?? "host",
                group: reader.line(tag.value("group"))?.lowercased() ?? "cast", image: reader.url(tag.value("img")),
                link: reader.url(tag.value("href")))
            return { reader, text in
                var person = person
                guard let name = FeedValues.line(text) else { return }
                person.name = name
                if reader.isInItem {
                    reader.current.item.persons.add(person, limit: reader.limits.entries)
                } else {
                    reader.show.feed.persons.add(person, limit: reader.limits.entries)
                }
            }
        }
        addTag(Self.showsAndEpisodes, .podcast, "image") { $0.startPodcastImage($1) }
        addTag(Self.showsAndEpisodes, .podcast, "images") { reader, tag in
            guard let art = tag.value("srcset").flatMap(FeedReader.art(ofSet:)) else { return }
            reader.setArt(2, art.url, width: art.width)
        }

        addTag(Self.showsAndEpisodes, .podcast, "value", inside: .value) { $0.startValue($1) }
        addTag([.value, .timeSplit], .podcast, "valuerecipient") { $0.startRecipient($1) }
        addTag([.value], .podcast, "valuetimesplit", inside: .timeSplit) { $0.startTimeSplit($1) }
        addTag([.timeSplit], .podcast, "remoteitem") { reader, tag in
            let item = reader.remoteItem(tag)
            reader.withLastSplit { $0.remoteItem = $0.remoteItem ?? item }
        }
    }
}
