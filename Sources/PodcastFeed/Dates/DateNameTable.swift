/// Names and abbreviations of months and weekdays in the languages of the European Union (except Irish forms that are
/// phrases), Russian, Ukrainian and Turkish, in lower case, with and without accents, also with `ae`, `oe` and `ue` for
/// umlauts.
///
/// Each word is followed by two hexadecimal bit masks: the months, and the weekdays, that it names in any of these
/// languages. Bit 0 is January in the first mask, and Monday in the second. Generated from the Common Locale Data
/// Repository (CLDR), as provided by ICU and Foundation's `DateFormatter`: `monthSymbols`, `weekdaySymbols`, and the
/// short and standalone forms of both.
enum DateNameTable {
    static let text = """
        abr 8 0 abril 8 0 ago 80 0 agosto 80 0 agu 80 0 agustos 80 0 aib 8 0 aibrean 8 0 aibreán 8 0 an 0 2
        antradienis 0 2 aoine 0 10 aout 80 0 août 80 0 apr 8 0 april 8 0 aprila 8 0 aprile 8 0 aprilie 8 0
        aprilis 8 0 aprill 8 0 apríl 8 0 apríla 8 0 aprīlis 8 0 ara 800 0 aralik 800 0 aralık 800 0 aug 80 0
        august 80 0 augusta 80 0 augusti 80 0 augusts 80 0 augustus 80 0 augusztus 80 0 avg 80 0 avgust 80 0 avr 8 0
        avril 8 0 aww 80 0 awwissu 80 0 ağu 80 0 ağustos 80 0 bal 8 0 balandis 8 0 balandzio 8 0 balandžio 8 0
        beal 10 0 bealtaine 10 0 birz 20 0 birzelio 20 0 birzelis 20 0 birž 20 0 birželio 20 0 birželis 20 0 bre 4 0
        brezen 4 0 brezna 4 0 bře 4 0 březen 4 0 března 4 0 car 0 4 carsamba 0 4 cead 0 4 ceadaoin 0 4 cerven 20 0
        cervence 40 0 cervenec 40 0 cervna 20 0 cet 0 8 cetrtek 0 8 ceturtd 0 8 ceturtdiena 0 8 cetvrtak 0 8 cmt 0 20
        cs 0 8 csuetoertoek 0 8 csutortok 0 8 csütörtök 0 8 ct 0 8 ctvrtek 0 8 cum 0 10 cuma 0 10 cumartesi 0 20
        cvc 40 0 cvn 20 0 cze 20 0 czerwca 20 0 czerwiec 20 0 czw 0 8 czwartek 0 8 céad 0 4 céadaoin 0 4 de 0 77
        dear 0 8 deardaoin 0 8 dec 800 0 december 800 0 decembra 800 0 decembre 800 0 decembrie 800 0 decembris 800 0
        deireadh 200 0 dets 800 0 detsember 800 0 dez 800 0 dezember 800 0 dezembro 800 0 dfomh 200 0 dfómh 200 0
        di 0 2 dic 800 0 dicembre 800 0 dicembru 800 0 diciembre 800 0 dienstag 0 2 dim 0 40 dimanche 0 40
        dinsdag 0 2 diċ 800 0 diċembru 800 0 do 0 8 dom 0 40 domenica 0 40 domh 0 40 domhnaigh 0 40 domingo 0 40
        donderdag 0 8 donnerstag 0 8 dub 8 0 duben 8 0 dubna 8 0 dum 0 40 duminica 0 40 duminică 0 40 dé 0 77
        déar 0 8 déardaoin 0 8 déc 800 0 décembre 800 0 ean 1 0 eanair 1 0 eanáir 1 0 eki 200 0 ekim 200 0 elo 80 0
        elokuu 80 0 elokuuta 80 0 ene 1 0 enero 1 0 erb 0 4 erbgha 0 4 erbgħa 0 4 esmaspaeev 0 1 esmaspaev 0 1
        esmaspäev 0 1 eyl 100 0 eyluel 100 0 eylul 100 0 eylül 100 0 feabh 2 0 feabhra 2 0 feb 2 0 febbraio 2 0
        febr 2 0 febrero 2 0 februar 2 0 februara 2 0 februari 2 0 februarie 2 0 februaris 2 0 february 2 0
        február 2 0 februára 2 0 februāris 2 0 feira 0 1f fev 2 0 fevereiro 2 0 fevr 2 0 fevrier 2 0 fomhair 300 0
        fr 0 10 fra 2 0 frar 2 0 fre 0 10 fredag 0 10 freitag 0 10 fri 0 10 friday 0 10 févr 2 0 février 2 0
        fómhair 300 0 geg 10 0 geguze 10 0 geguzes 10 0 gegužė 10 0 gegužės 10 0 gen 1 0 gennaio 1 0 gim 0 10
        gimgha 0 10 gio 0 8 giovedi 0 8 giovedì 0 8 giu 20 0 giugno 20 0 gru 800 0 grudnia 800 0 grudzien 800 0
        grudzień 800 0 gruod 800 0 gruodis 800 0 gruodzio 800 0 gruodžio 800 0 gun 20 0 gunju 20 0 had 0 40 hadd 0 40
        ham 0 8 hamis 0 8 haoine 0 10 haz 20 0 haziran 20 0 heina 40 0 heinae 40 0 heinaekuu 40 0 heinaekuuta 40 0
        heinakuu 40 0 heinakuuta 40 0 heinä 40 0 heinäkuu 40 0 heinäkuuta 40 0 helmi 2 0 helmikuu 2 0 helmikuuta 2 0
        hetfo 0 1 huhti 8 0 huhtikuu 8 0 huhtikuuta 8 0 hétfő 0 1 ian 1 0 ianuarie 1 0 il 0 58 is 0 20 it 0 3
        iuil 40 0 iul 40 0 iulie 40 0 iun 20 0 iunie 20 0 iúil 40 0 jaan 1 0 jaanuar 1 0 jan 1 0 janeiro 1 0
        jannar 1 0 januar 1 0 januara 1 0 januari 1 0 january 1 0 január 1 0 januára 1 0 janv 1 0 janvaris 1 0
        janvier 1 0 janvāris 1 0 jeu 0 8 jeudi 0 8 joi 0 8 joulu 800 0 joulukuu 800 0 joulukuuta 800 0 jue 0 8
        jueves 0 8 juil 40 0 juillet 40 0 juin 20 0 jul 40 0 jula 40 0 julho 40 0 juli 40 0 julij 40 0 julijs 40 0
        julio 40 0 julius 40 0 july 40 0 jun 20 0 juna 20 0 june 20 0 junho 20 0 juni 20 0 junij 20 0 junijs 20 0
        junio 20 0 junius 20 0 juuli 40 0 juuni 20 0 júl 40 0 júla 40 0 július 40 0 jún 20 0 júna 20 0 június 20 0
        jūl 40 0 jūlijs 40 0 jūn 20 0 jūnijs 20 0 kas 400 0 kasim 400 0 kasım 400 0 ke 0 4 kedd 0 2 kesa 20 0
        kesae 20 0 kesaekuu 20 0 kesaekuuta 20 0 kesakuu 20 0 kesakuuta 20 0 keskiviikko 0 4 keskiviikkona 0 4
        kesä 20 0 kesäkuu 20 0 kesäkuuta 20 0 ketvirtadienis 0 8 kol 80 0 kolmapaeev 0 4 kolmapaev 0 4 kolmapäev 0 4
        kolovoz 80 0 kolovoza 80 0 kov 4 0 kovas 4 0 kovo 4 0 kt 0 8 kve 10 0 kveten 10 0 kvetna 10 0 kvě 10 0
        květen 10 0 května 10 0 kwi 8 0 kwiecien 8 0 kwiecień 8 0 kwietnia 8 0 la 0 20 lapkr 400 0 lapkricio 400 0
        lapkritis 400 0 lapkričio 400 0 lauantai 0 20 lauantaina 0 20 laupaeev 0 20 laupaev 0 20 laupäev 0 20 led 1 0
        leden 1 0 ledna 1 0 liep 40 0 liepa 40 0 liepos 40 0 lip 60 0 lipanj 20 0 lipca 40 0 lipiec 40 0 lipnja 20 0
        lis 600 0 listopad 600 0 listopada 600 0 listopadu 400 0 loer 0 20 loerdag 0 20 loka 200 0 lokakuu 200 0
        lokakuuta 200 0 lor 0 20 lordag 0 20 luain 0 1 luan 0 1 lug 40 0 luglio 40 0 lul 40 0 lulju 40 0 lun 80 1
        lunasa 80 0 lundi 0 1 lunedi 0 1 lunedì 0 1 lunes 0 1 luni 0 1 lut 2 0 lutego 2 0 luty 2 0 lör 0 20
        lördag 0 20 lør 0 20 lørdag 0 20 lún 80 0 lúnasa 80 0 ma 0 1 maalis 4 0 maaliskuu 4 0 maaliskuuta 4 0
        maanantai 0 1 maanantaina 0 1 maandag 0 1 maart 4 0 maer 4 0 maerts 4 0 maerz 4 0 mag 10 0 maggio 10 0
        mai 10 0 maijs 10 0 maio 10 0 mairt 0 2 maj 10 0 maja 10 0 majus 10 0 man 0 1 mandag 0 1 mar 4 2 marc 4 0
        marca 4 0 march 4 0 marcius 4 0 marco 4 0 mardi 0 2 marec 4 0 marras 400 0 marraskuu 400 0 marraskuuta 400 0
        mars 4 0 mart 4 0 marta 4 0 martedi 0 2 martedì 0 2 martes 0 2 marti 0 2 martie 4 0 marts 4 0 marz 4 0
        marzec 4 0 marzo 4 0 marzu 4 0 março 4 0 marți 0 2 may 10 0 mayis 10 0 mayo 10 0 mayıs 10 0 mean 100 0
        mei 10 0 meith 20 0 meitheamh 20 0 mej 10 0 mejju 10 0 mer 0 4 mercoledi 0 4 mercoledì 0 4 mercredi 0 4
        meán 100 0 mfomh 100 0 mfómh 100 0 mi 0 4 mie 0 4 miercoles 0 4 miercuri 0 4 mittwoch 0 4 mié 0 4
        miércoles 0 4 mo 0 1 mon 0 1 monday 0 1 montag 0 1 mrt 4 0 máirt 0 2 máj 10 0 mája 10 0 május 10 0 márc 4 0
        március 4 0 márta 4 0 mär 4 0 märts 4 0 märz 4 0 mån 0 1 måndag 0 1 ne 0 40 ned 0 40 nedela 0 40 nedele 0 40
        nedelja 0 40 nedeľa 0 40 nedjelja 0 40 neděle 0 40 neljapaeev 0 8 neljapaev 0 8 neljapäev 0 8 niedz 0 40
        niedziela 0 40 nis 8 0 nisan 8 0 noiembrie 400 0 noll 800 0 nollaig 800 0 nov 400 0 november 400 0
        novembra 400 0 novembre 400 0 novembris 400 0 novembro 400 0 novembru 400 0 noviembre 400 0 oca 1 0 ocak 1 0
        oct 200 0 october 200 0 octobre 200 0 octombrie 200 0 octubre 200 0 okt 200 0 oktober 200 0 oktobra 200 0
        oktobris 200 0 oktoober 200 0 október 200 0 októbra 200 0 ons 0 4 onsdag 0 4 otrd 0 2 otrdiena 0 2 ott 200 0
        ottobre 200 0 ottubru 200 0 out 200 0 outubro 200 0 ozu 4 0 ozujak 4 0 ozujka 4 0 ožu 4 0 ožujak 4 0
        ožujka 4 0 pa 0 10 patek 0 10 paz 200 40 pazar 0 40 pazartesi 0 1 pazdziernik 200 0 pazdziernika 200 0
        paź 200 0 październik 200 0 października 200 0 pe 0 10 penktadienis 0 10 pentek 0 10 per 0 8 perjantai 0 10
        perjantaina 0 10 persembe 0 8 perşembe 0 8 pet 0 10 petak 0 10 petek 0 10 pi 0 10 piatek 0 10 piatok 0 10
        piektd 0 10 piektdiena 0 10 pirmadienis 0 1 pirmd 0 1 pirmdiena 0 1 piątek 0 10 pn 0 10 po 0 1 pon 0 1
        pondeli 0 1 pondelok 0 1 pondělí 0 1 ponedeljek 0 1 ponedjeljak 0 1 poniedzialek 0 1 poniedziałek 0 1 pr 0 1
        pro 800 0 prosinac 800 0 prosinca 800 0 prosince 800 0 prosinec 800 0 pt 0 10 puehapaeev 0 40 puhapaev 0 40
        pzt 0 1 pá 0 10 pátek 0 10 péntek 0 10 pühapäev 0 40 qua 0 4 quarta 0 4 qui 0 8 quinta 0 8 reede 0 10
        rij 200 0 rijen 200 0 rijna 200 0 rugp 80 0 rugpjucio 80 0 rugpjutis 80 0 rugpjūtis 80 0 rugpjūčio 80 0
        rugs 100 0 rugsejis 100 0 rugsejo 100 0 rugsėjis 100 0 rugsėjo 100 0 ruj 100 0 rujan 100 0 rujna 100 0
        sa 0 20 sab 0 20 sabado 0 20 sabato 0 20 sal 0 2 sali 0 2 salı 0 2 sam 0 20 sambata 0 20 samedi 0 20
        samh 400 0 samhain 400 0 samstag 0 20 sat 0 20 sath 0 20 sathairn 0 20 saturday 0 20 saus 1 0 sausio 1 0
        sausis 1 0 seg 0 1 segunda 0 1 sekmadienis 0 40 sep 100 0 sept 100 0 september 100 0 septembra 100 0
        septembre 100 0 septembrie 100 0 septembris 100 0 septiembre 100 0 sestadienis 0 20 sestd 0 20 sestdiena 0 20
        set 100 0 setembro 100 0 settembre 100 0 settembru 100 0 sex 0 10 sexta 0 10 sib 0 20 sibt 0 20 sie 80 0
        sierpien 80 0 sierpień 80 0 sierpnia 80 0 sij 1 0 sijecanj 1 0 sijecnja 1 0 siječanj 1 0 siječnja 1 0 sk 0 40
        so 0 60 sob 0 20 sobota 0 20 soen 0 40 soendag 0 40 son 0 40 sondag 0 40 sonntag 0 40 spal 200 0 spalio 200 0
        spalis 200 0 sr 0 4 sre 0 4 sreda 0 4 sri 0 4 srijeda 0 4 sroda 0 4 srp c0 0 srpanj 40 0 srpen 80 0
        srpna 80 0 srpnja 40 0 st 0 2c streda 0 4 stu 400 0 studeni 400 0 studenoga 400 0 stvrtok 0 8 sty 1 0
        styczen 1 0 styczeń 1 0 stycznia 1 0 středa 0 4 su 0 40 sub 2 20 subat 2 0 subota 0 20 sun 0 40 sunday 0 40
        sunnuntai 0 40 svetd 0 40 svetdiena 0 40 svi 10 0 svibanj 10 0 svibnja 10 0 svētd 0 40 svētdiena 0 40
        syys 100 0 syyskuu 100 0 syyskuuta 100 0 sze 0 4 szept 100 0 szeptember 100 0 szerda 0 4 szo 0 20
        szombat 0 20 sáb 0 20 sábado 0 20 sâm 0 20 sâmbătă 0 20 sön 0 40 söndag 0 40 søn 0 40 søndag 0 40 tammi 1 0
        tammikuu 1 0 tammikuuta 1 0 teisipaeev 0 2 teisipaev 0 2 teisipäev 0 2 tem 40 0 temmuz 40 0 ter 0 2 terca 0 2
        terça 0 2 thu 0 8 thursday 0 8 ti 0 2 tiistai 0 2 tiistaina 0 2 tirs 0 2 tirsdag 0 2 tis 0 2 tisdag 0 2
        tli 0 2 tlieta 0 2 tne 0 1 tnejn 0 1 to 0 8 tor 0 2 torek 0 2 tors 0 8 torsdag 0 8 torstai 0 8 torstaina 0 8
        touko 10 0 toukokuu 10 0 toukokuuta 10 0 tr 0 4 tra 8 0 travanj 8 0 travnja 8 0 treciadienis 0 4 tresd 0 4
        tresdiena 0 4 trečiadienis 0 4 trešd 0 4 trešdiena 0 4 tue 0 2 tuesday 0 2 uno 2 0 unor 2 0 unora 2 0 ut 0 2
        utery 0 2 uto 0 2 utorak 0 2 utorok 0 2 vas 2 0 vasario 2 0 vasaris 2 0 vasarnap 0 40 vasárnap 0 40 veebr 2 0
        veebruar 2 0 velj 2 0 veljaca 2 0 veljace 2 0 veljača 2 0 veljače 2 0 ven 0 10 vendredi 0 10 venerdi 0 10
        venerdì 0 10 vie 0 10 viernes 0 10 vin 0 10 vineri 0 10 vr 0 10 vrijdag 0 10 wed 0 4 wednesday 0 4 wo 0 4
        woensdag 0 4 wrz 100 0 wrzesien 100 0 wrzesień 100 0 wrzesnia 100 0 września 100 0 wt 0 2 wtorek 0 2 za 0 20
        zar 100 0 zari 100 0 zaterdag 0 20 zo 0 40 zondag 0 40 zář 100 0 září 100 0 ápr 8 0 április 8 0 çar 0 4
        çarşamba 0 4 úno 2 0 únor 2 0 února 2 0 út 0 2 úterý 0 2 červen 20 0 července 40 0 červenec 40 0 června 20 0
        čet 0 8 četrtek 0 8 četvrtak 0 8 čt 0 8 čtvrtek 0 8 čvc 40 0 čvn 20 0 ġim 0 10 ġimgħa 0 10 ġun 20 0
        ġunju 20 0 ħad 0 40 ħadd 0 40 ħam 0 8 ħamis 0 8 říj 200 0 říjen 200 0 října 200 0 śr 0 4 środa 0 4 şub 2 0
        şubat 2 0 šeštadienis 0 20 št 0 28 štvrtok 0 8 απρ 8 0 απρίλιος 8 0 απριλίου 8 0 απριλιος 8 0 απριλιου 8 0
        αυγ 80 0 αυγουστος 80 0 αυγουστου 80 0 αυγούστου 80 0 αύγ 80 0 αύγουστος 80 0 δεκ 800 0 δεκέμβριος 800 0
        δεκεμβρίου 800 0 δεκεμβριος 800 0 δεκεμβριου 800 0 δευ 0 1 δευτέρα 0 1 δευτερα 0 1 ιαν 1 0 ιανουάριος 1 0
        ιανουαρίου 1 0 ιανουαριος 1 0 ιανουαριου 1 0 ιουλ 40 0 ιουλίου 40 0 ιουλιος 40 0 ιουλιου 40 0 ιουν 20 0
        ιουνίου 20 0 ιουνιος 20 0 ιουνιου 20 0 ιούλ 40 0 ιούλιος 40 0 ιούν 20 0 ιούνιος 20 0 κυρ 0 40 κυριακή 0 40
        κυριακη 0 40 μάι 10 0 μάιος 10 0 μάρ 4 0 μάρτιος 4 0 μαΐ 10 0 μαΐου 10 0 μαι 10 0 μαιος 10 0 μαιου 10 0
        μαρ 4 0 μαρτίου 4 0 μαρτιος 4 0 μαρτιου 4 0 νοέ 400 0 νοέμβριος 400 0 νοε 400 0 νοεμβρίου 400 0
        νοεμβριος 400 0 νοεμβριου 400 0 οκτ 200 0 οκτωβρίου 200 0 οκτωβριος 200 0 οκτωβριου 200 0 οκτώβριος 200 0
        πέμ 0 8 πέμπτη 0 8 παρ 0 10 παρασκευή 0 10 παρασκευη 0 10 πεμ 0 8 πεμπτη 0 8 σάβ 0 20 σάββατο 0 20 σαβ 0 20
        σαββατο 0 20 σεπ 100 0 σεπτέμβριος 100 0 σεπτεμβρίου 100 0 σεπτεμβριος 100 0 σεπτεμβριου 100 0 τετ 0 4
        τετάρτη 0 4 τεταρτη 0 4 τρί 0 2 τρίτη 0 2 τρι 0 2 τριτη 0 2 φεβ 2 0 φεβρουάριος 2 0 φεβρουαρίου 2 0
        φεβρουαριος 2 0 φεβρουαριου 2 0 авг 80 0 август 80 0 августа 80 0 апр 8 0 апрель 8 0 апреля 8 0 април 8 0
        бер 4 0 березень 4 0 березня 4 0 вер 100 0 вересень 100 0 вересня 100 0 воскресенье 0 40 вс 0 40 вт 0 2
        вторник 0 2 вівторок 0 2 груд 800 0 грудень 800 0 грудня 800 0 дек 800 0 декабрь 800 0 декабря 800 0
        декември 800 0 жовт 200 0 жовтень 200 0 жовтня 200 0 июль 40 0 июля 40 0 июнь 20 0 июня 20 0 квіт 8 0
        квітень 8 0 квітня 8 0 лип 40 0 липень 40 0 липня 40 0 лист 400 0 листопад 400 0 листопада 400 0 лют 2 0
        лютии 2 0 лютий 2 0 лютого 2 0 маи 10 0 май 10 0 март 4 0 марта 4 0 мая 10 0 нд 0 40 неделя 0 40 неділя 0 40
        ное 400 0 ноември 400 0 нояб 400 0 ноябрь 400 0 ноября 400 0 окт 200 0 октомври 200 0 октябрь 200 0
        октября 200 0 пʼятниця 0 10 петък 0 10 пн 0 1 понеделник 0 1 понедельник 0 1 понеділок 0 1 пт 0 10
        пятница 0 10 сб 0 20 сент 100 0 сентябрь 100 0 сентября 100 0 сеп 100 0 септември 100 0 середа 0 4 серп 80 0
        серпень 80 0 серпня 80 0 ср 0 4 среда 0 4 сряда 0 4 суббота 0 20 субота 0 20 събота 0 20 січ 1 0 січень 1 0
        січня 1 0 трав 10 0 травень 10 0 травня 10 0 фев 2 0 февр 2 0 февраль 2 0 февраля 2 0 февруари 2 0 черв 20 0
        червень 20 0 червня 20 0 четвер 0 8 четверг 0 8 четвъртък 0 8 чт 0 8 юли 40 0 юни 20 0 янв 1 0 январь 1 0
        января 1 0 яну 1 0 януари 1 0
        """
}
