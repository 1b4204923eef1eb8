public-status-title = Stan usługi
public-status-feed = Stan { $hub }
public-status-no-problem = Można się zalogować każdym kontem.
public-status-problems = Bieżące problemy
public-status-planned-title = Planowane przerwy
public-status-down = nie działa
public-status-degraded = działa ponownie, po niedawnych błędach
public-status-blocked = zablokowane
public-status-planned = planowana przerwa
public-status-begins = Początek:
public-status-ends = Koniec:
public-status-from = Od { $time }.
public-status-until = Do { $time }.
public-status-time = Stan na
public-accessibility-title = Deklaracja dostępności
public-accessibility-scope = Ta deklaracja dotyczy stron logowania { $hub }, z których każdy powinien móc korzystać (dyrektywa (UE) 2016/2102).
public-accessibility-conformity = Zgodność
public-accessibility-full = Strony są zgodne z EN 301 549 i WCAG 2.1, poziom AA.
public-accessibility-partial = Strony są częściowo zgodne z EN 301 549 i WCAG 2.1, poziom AA: wyjątki poniżej.
public-accessibility-none = Strony nie są zgodne z EN 301 549 i WCAG 2.1, poziom AA: powody poniżej.
public-accessibility-defects = Co nie jest dostępne
public-accessibility-preparation = Ta deklaracja
public-accessibility-prepared = Sporządzono ją dnia { $date }.
public-accessibility-self = Opiera się na ocenie operatora.
public-accessibility-external = Opiera się na ocenie innej organizacji.
public-accessibility-feedback = Zgłoszenie problemu
public-accessibility-contact = Prosimy o wiadomość, jeśli coś przeszkadza albo potrzebna jest inna forma:
public-accessibility-enforcement = Jeśli nasza odpowiedź nie wystarcza
public-accessibility-body = Można się zwrócić do tego urzędu:
public-privacy-title = Informacja o prywatności
public-privacy-scope = Ta informacja dotyczy danych, które { $hub } przetwarza podczas logowania do usługi.
public-privacy-controller = Kto jest administratorem
public-privacy-officer = Inspektor ochrony danych:
public-privacy-purpose-title = Do czego służą dane
public-privacy-purpose = Wybrana usługa dowiaduje się, kim jest użytkownik, i może na tym polegać.
public-privacy-basis = Podstawa prawna:
public-privacy-data-title = Jakie dane i skąd pochodzą
public-privacy-data = Wybrane konto podaje, kim jest użytkownik, jak się zalogował i jak bardzo jest to wiarygodne. Usługa otrzymuje tylko to, o co wolno jej pytać.
public-privacy-register = Rejestr osób potwierdza je lub uzupełnia.
public-privacy-recipients = Kto je otrzymuje
public-privacy-service = usługa, do której następuje logowanie
public-privacy-periods = Jak długo są przechowywane
public-privacy-login = Dane niezakończonego logowania: najwyżej { $period }.
public-privacy-session = Dane sesji: do wylogowania, bez użycia { $idle }, najwyżej { $period }.
public-privacy-refresh = Dane dla usługi, która może wracać bez udziału użytkownika: najwyżej { $period } lub do odwołania.
public-privacy-recent = Czasy, usługi i błędy ostatnich logowań, bez imienia i nazwiska, dla pomocy: najwyżej { $period }.
public-privacy-audit = Dziennik audytu z pseudonimami, usługami i czasami: { $period }.
public-privacy-audit-unlimited = Dziennik audytu z pseudonimami, usługami i czasami: bez stałego terminu.
public-privacy-choice = Plik cookie z ostatnio wybranym kontem: { $period }.
public-privacy-rights-title = Prawa użytkownika
public-privacy-rights = Można obejrzeć swoje dane, żądać ich sprostowania, usunięcia lub ograniczenia użycia oraz wnieść sprzeciw.
public-privacy-complaint = Skargę można złożyć do:
public-status-available-count =
    { $count ->
        [one] Działa { $count } konto.
        [few] Działają { $count } konta.
       *[many] Działa { $count } kont.
    }
public-days =
    { $count ->
        [one] { $count } dzień
        [few] { $count } dni
       *[many] { $count } dni
    }
public-hours =
    { $count ->
        [one] { $count } godzina
        [few] { $count } godziny
       *[many] { $count } godzin
    }
public-minutes =
    { $count ->
        [one] { $count } minuta
        [few] { $count } minuty
       *[many] { $count } minut
    }
