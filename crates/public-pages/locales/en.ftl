public-status-title = Service status
public-status-feed = Status of { $hub }
public-status-no-problem = You can sign in with every account.
public-status-problems = Problems now
public-status-planned-title = Planned
public-status-down = not working
public-status-degraded = works again, with failures a moment ago
public-status-blocked = blocked
public-status-planned = planned interruption
public-status-begins = Begins:
public-status-ends = Ends:
public-status-from = From { $time }.
public-status-until = Until { $time }.
public-status-time = As of
public-accessibility-title = Accessibility statement
public-accessibility-scope = This statement covers the sign-in pages of { $hub }, which should be usable by everyone (Directive (EU) 2016/2102).
public-accessibility-conformity = Conformity
public-accessibility-full = The pages conform to EN 301 549 and WCAG 2.1, level AA.
public-accessibility-partial = The pages conform partially to EN 301 549 and WCAG 2.1, level AA: exceptions follow.
public-accessibility-none = The pages do not conform to EN 301 549 and WCAG 2.1, level AA: reasons follow.
public-accessibility-defects = What is not accessible
public-accessibility-preparation = This statement
public-accessibility-prepared = It was prepared on { $date }.
public-accessibility-self = It is based on an assessment by the operator.
public-accessibility-external = It is based on an assessment by another organisation.
public-accessibility-feedback = Report a problem
public-accessibility-contact = Write to us if something stops you, or if you need it in another form:
public-accessibility-enforcement = If our answer does not satisfy you
public-accessibility-body = You can turn to this authority:
public-privacy-title = Privacy notice
public-privacy-scope = This notice is about the data that { $hub } processes when you sign in to a service.
public-privacy-controller = Who is responsible
public-privacy-officer = Data protection officer:
public-privacy-purpose-title = What the data is for
public-privacy-purpose = The service that you chose learns who you are, and can rely on it.
public-privacy-basis = Legal basis:
public-privacy-data-title = Which data, and where it comes from
public-privacy-data = The account that you choose says who you are, how you signed in and how reliable that is. A service gets only what it may ask for.
public-privacy-register = A register of persons confirms or completes it.
public-privacy-recipients = Who receives it
public-privacy-service = the service that you sign in to
public-privacy-periods = How long it is kept
public-privacy-login = Data of a sign-in that is not finished: { $period } at most.
public-privacy-session = Data of your session: until you sign out, for { $idle } without use, { $period } at most.
public-privacy-refresh = Data for a service that may return without you: { $period } at most, or until you withdraw it.
public-privacy-recent = Times, services and errors of recent sign-ins, without your name, for support: { $period } at most.
public-privacy-audit = Audit log, with pseudonyms, services and times: { $period }.
public-privacy-audit-unlimited = Audit log, with pseudonyms, services and times: without a fixed end.
public-privacy-choice = A cookie with the account that you chose last: { $period }.
public-privacy-rights-title = Your rights
public-privacy-rights = You may see your data, have it corrected or deleted, have its use restricted, and object to its use.
public-privacy-complaint = You may complain to:
public-status-available-count =
    { $count ->
        [one] { $count } account works.
       *[other] { $count } accounts work.
    }
public-days =
    { $count ->
        [one] { $count } day
       *[other] { $count } days
    }
public-hours =
    { $count ->
        [one] { $count } hour
       *[other] { $count } hours
    }
public-minutes =
    { $count ->
        [one] { $count } minute
       *[other] { $count } minutes
    }
