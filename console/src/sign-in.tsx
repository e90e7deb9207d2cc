import { type FormEvent, useEffect, useState } from 'react'
import { ApiError, api } from './api/api.ts'
import { queries, queryClient } from './api/queries.ts'
import { isSession, session } from './api/session.ts'
import { hasIssuer, useBrand, useProductName } from './ui/brand/brand.ts'
import { Button } from './ui/button.tsx'
import { Mark } from './ui/icon.tsx'

export function SignIn() {
  const hasBrand = useBrand() !== undefined
  const product = useProductName()
  const [token, setToken] = useState('')
  const [problem, setProblem] = useState(session.endReason())
  const [busy, setBusy] = useState(false)
  useEffect(() => {
    document.title = `Sign in · ${product}`
  }, [product])
  const signIn = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setProblem('')
    try {
      await api('/auth/token', { method: 'POST', token: token.trim() })
      const who = await queryClient.fetchQuery(queries.whoami())
      session.opened(who.id)
    } catch (error) {
      const isUnknown = error instanceof ApiError && error.status === 401
      setProblem(isUnknown ? refusal(token.trim()) : (error as Error).message)
      setBusy(false)
    }
  }
  return (
    <main className="sign-in">
      <form onSubmit={signIn}>
        <div className="brand">
          <Mark />
          {product}
        </div>
        <h1>Sign in</h1>
        {hasIssuer && (
          <a className="button primary" href={`/auth/login?return_to=${encodeURIComponent(here())}`}>
            Sign in with your account
          </a>
        )}
        <div>
          <p className="soft">
            {hasIssuer ? 'Or use' : 'Use'} an access token. Every tab of this browser is signed in, until you
            sign out.
          </p>
        </div>
        <div className="field">
          <label htmlFor="token">Access token</label>
          <input
            id="token"
            className="input mono"
            type="password"
            autoComplete="off"
            spellCheck={false}
            placeholder="wh_…"
            value={token}
            onChange={(event) => setToken(event.target.value)}
            aria-invalid={problem !== ''}
            aria-describedby="token-note token-problem"
            // biome-ignore lint/a11y/noAutofocus: it is the only thing to do on this page
            autoFocus={!hasIssuer}
            required
          />
          <span className="problem" id="token-problem" role="alert">
            {problem}
          </span>
          <span className="note" id="token-note">
            A token (<code>wh_…</code>) or a browser session (<code>whs_…</code>).
            {!hasBrand && (
              <>
                {' '}
                The first start prints the admin token and writes it to <code>admin-token</code> in the data
                directory.
              </>
            )}
          </span>
        </div>
        <Button type="submit" look="primary" disabled={busy || token.trim() === ''}>
          {busy ? 'Signing in …' : 'Sign in'}
        </Button>
      </form>
    </main>
  )
}

const here = (): string => location.pathname + location.search

function refusal(token: string): string {
  return isSession(token)
    ? 'This session has expired or was ended. Ask for a new one.'
    : 'This token is not valid. Check that you copied all of it.'
}
