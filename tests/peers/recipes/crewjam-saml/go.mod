module recipes/crewjam-saml

go 1.26.0

require (
	github.com/crewjam/saml v0.6.3
	golang.org/x/crypto v0.55.0
)

require (
	github.com/beevik/etree v1.8.1 // indirect
	github.com/jonboulle/clockwork v0.5.0 // indirect
	github.com/russellhaering/goxmldsig v1.6.1 // indirect
)
