// An identity provider by github.com/crewjam/saml: main BASE_URL KEY CERTIFICATE. PUT /services/NAME with metadata registers a service provider.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"log"
	"net/http"
	"net/url"
	"os"

	"github.com/crewjam/saml/samlidp"
	"golang.org/x/crypto/bcrypt"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	base := must(url.Parse(os.Args[1]))
	pair := must(tls.LoadX509KeyPair(os.Args[3], os.Args[2]))
	server := must(samlidp.New(samlidp.Options{
		URL: *base, Key: pair.PrivateKey, Certificate: must(x509.ParseCertificate(pair.Certificate[0])), Store: &samlidp.MemoryStore{},
	}))
	hash := must(bcrypt.GenerateFromPassword([]byte("the-password"), bcrypt.MinCost))
	jane := samlidp.User{Name: "jane", HashedPassword: hash, Email: "jane@example.org", CommonName: "Jane Doe", Surname: "Doe", GivenName: "Jane"}
	if err := server.Store.Put("/users/jane", jane); err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+base.Port(), server))
}
