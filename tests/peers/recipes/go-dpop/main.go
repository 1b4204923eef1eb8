// Signs one person in with DPoP: prints the address for the browser, reads the one it came back to, prints what it learned.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// recorder keeps the path and status of each response.
type recorder struct{ seen []string }

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if err == nil {
		r.seen = append(r.seen, fmt.Sprintf("%s %d", request.URL.Path, response.StatusCode))
	}
	return response, err
}

func main() {
	result, err := signIn(os.Args[1], os.Args[2], os.Args[3], os.Args[4] == "proofs")
	if err != nil {
		log.Fatal(err)
	}
	json.NewEncoder(os.Stdout).Encode(result)
}

func signIn(issuer, clientID, redirectURL string, proofs bool) (map[string]any, error) {
	calls := &recorder{}
	client := &http.Client{Transport: calls}
	if proofs {
		transport, err := NewDPoPTransport(calls)
		if err != nil {
			return nil, err
		}
		client.Transport = transport
	}
	ctx := oidc.ClientContext(context.Background(), client)
	provider, err := oidc.NewProvider(ctx, issuer)
	if err != nil {
		return nil, err
	}
	config := oauth2.Config{
		ClientID: clientID, ClientSecret: os.Getenv("CLIENT_SECRET"), Endpoint: provider.Endpoint(), RedirectURL: redirectURL,
		Scopes: []string{oidc.ScopeOpenID, "profile", oidc.ScopeOfflineAccess},
	}
	config.Endpoint.AuthStyle = oauth2.AuthStyleInHeader

	state, nonce, pkce := oauth2.GenerateVerifier(), oauth2.GenerateVerifier(), oauth2.GenerateVerifier()
	fmt.Println(config.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(pkce), oauth2.SetAuthURLParam("prompt", "consent")))
	input := bufio.NewScanner(os.Stdin)
	if !input.Scan() {
		return nil, errors.New("no address on standard input")
	}
	back, err := url.Parse(input.Text())
	if err != nil {
		return nil, err
	}
	if back.Query().Get("state") != state {
		return nil, errors.New("another state")
	}
	token, err := config.Exchange(ctx, back.Query().Get("code"), oauth2.VerifierOption(pkce))
	if err != nil {
		return nil, err
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := provider.Verifier(&oidc.Config{ClientID: clientID}).Verify(ctx, raw)
	if err != nil {
		return nil, err
	}
	info, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return nil, err
	}
	if id.Nonce != nonce || info.Subject != id.Subject {
		return nil, errors.New("not the ID token or the userinfo of this login")
	}
	var person map[string]any
	if err := info.Claims(&person); err != nil {
		return nil, err
	}
	// An expired access token makes the library use the refresh token.
	old := *token
	old.Expiry = time.Now().Add(-time.Minute)
	renewed, err := config.TokenSource(ctx, &old).Token()
	if err != nil {
		return nil, err
	}
	again, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(renewed))
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"token_type": token.TokenType, "family_name": person["family_name"], "renewed": renewed.AccessToken != token.AccessToken,
		"renewed_type": renewed.TokenType, "same": again.Subject == id.Subject, "access_token": renewed.AccessToken, "calls": calls.seen,
	}, nil
}
