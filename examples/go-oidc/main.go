// Signs a person in with Passerelle by go-oidc and golang.org/x/oauth2, and out again.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"log"
	"net/http"
	"net/url"
	"os"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// What is known of a browser: a login that has begun, then the person.
type session struct{ state, nonce, verifier, person, idToken string }

var sessions sync.Map

// Redirects with a new session at each step: an identifier that was planted before is worth nothing afterwards.
func advance(w http.ResponseWriter, r *http.Request, s session, target string) {
	id := oauth2.GenerateVerifier()
	sessions.Store(id, s)
	http.SetCookie(w, &http.Cookie{Name: "session", Value: id, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
	http.Redirect(w, r, target, http.StatusFound)
}

func find(r *http.Request) session {
	cookie, _ := r.Cookie("session")
	found, _ := sessions.Load(cmp.Or(cookie, &http.Cookie{}).Value)
	s, _ := found.(session)
	return s
}

// Redeems the code, and checks what the library leaves to its caller: state, nonce, and whose userinfo it is.
func finish(r *http.Request, hub *oauth2.Config, provider *oidc.Provider) (session, error) {
	s, query := find(r), r.URL.Query()
	if s.state == "" || query.Get("state") != s.state || query.Get("error") != "" {
		return s, errors.New("no login: " + query.Get("error_description"))
	}
	token, err := hub.Exchange(r.Context(), query.Get("code"), oauth2.VerifierOption(s.verifier))
	if err != nil {
		return s, err
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := provider.Verifier(&oidc.Config{ClientID: hub.ClientID}).Verify(r.Context(), raw)
	if err != nil {
		return s, err
	}
	info, err := provider.UserInfo(r.Context(), oauth2.StaticTokenSource(token))
	if err != nil || id.Nonce != s.nonce || info.Subject != id.Subject {
		return s, errors.Join(err, errors.New("nonce or userinfo is of another login"))
	}
	var claims map[string]any
	err = info.Claims(&claims)
	return session{person: fmt.Sprint(claims["given_name"], " ", claims["family_name"]), idToken: raw}, err
}

func main() {
	port := cmp.Or(os.Getenv("PORT"), "3000")
	home := cmp.Or(os.Getenv("BASE_URL"), "http://localhost:"+port)
	provider, err := oidc.NewProvider(context.Background(), cmp.Or(os.Getenv("ISSUER"), "http://localhost:8080/api/v2"))
	if err != nil {
		log.Fatal(err)
	}
	var metadata map[string]any
	if err := provider.Claims(&metadata); err != nil {
		log.Fatal(err)
	}
	hub := &oauth2.Config{
		ClientID: cmp.Or(os.Getenv("CLIENT_ID"), "example"), ClientSecret: cmp.Or(os.Getenv("CLIENT_SECRET"), "not-a-secret-for-the-demo-on-loopback"),
		RedirectURL: home + "/callback", Scopes: []string{oidc.ScopeOpenID, "profile", "email"}, Endpoint: provider.Endpoint()}
	hub.Endpoint.AuthStyle = oauth2.AuthStyleInParams // The library tries the header first, and that counts as a failed authentication.

	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		page := `<h1>My application</h1><p><a href="/login">Sign in with Passerelle</a></p>`
		if s := find(r); s.person != "" {
			page = `<h1>` + html.EscapeString(s.person) + `</h1><p><a href="/logout">Sign out</a></p>`
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, page)
	})
	http.HandleFunc("/login", func(w http.ResponseWriter, r *http.Request) {
		s := session{state: oauth2.GenerateVerifier(), nonce: oauth2.GenerateVerifier(), verifier: oauth2.GenerateVerifier()}
		acr := oauth2.SetAuthURLParam("acr_values", "eidas1")
		advance(w, r, s, hub.AuthCodeURL(s.state, oidc.Nonce(s.nonce), oauth2.S256ChallengeOption(s.verifier), acr))
	})
	http.HandleFunc("/callback", func(w http.ResponseWriter, r *http.Request) {
		if s, err := finish(r, hub, provider); err == nil {
			advance(w, r, s, "/")
		} else {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	})
	http.HandleFunc("/logout", func(w http.ResponseWriter, r *http.Request) {
		query := url.Values{"id_token_hint": {find(r).idToken}, "post_logout_redirect_uri": {home + "/signed-out"}, "state": {oauth2.GenerateVerifier()}}
		advance(w, r, session{}, fmt.Sprint(metadata["end_session_endpoint"], "?", query.Encode()))
	})
	http.Handle("/signed-out", http.RedirectHandler("/", http.StatusFound))
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}
