import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { useOffline } from './api/connection.ts'
import { session } from './api/session.ts'
import type { Whoami } from './api/shapes.ts'
import { Icon, Mark } from './ui/icon.tsx'
import { setTheme, useTheme } from './ui/theme.ts'

const pages = [
  { path: '/', name: 'Overview', icon: 'overview' },
  { path: '/console/endpoints', name: 'Endpoints', icon: 'endpoints' },
  { path: '/console/playground', name: 'Playground', icon: 'playground' },
  { path: '/console/explore', name: 'Logs', icon: 'logs' },
  { path: '/console/sources', name: 'Sources', icon: 'sources' },
  { path: '/console/tokens', name: 'Tokens', icon: 'tokens' },
] as const

export function Shell({ who, children }: { who: Whoami; children: ReactNode }) {
  const [location] = useLocation()
  const offline = useOffline()
  const shown = who.admin ? pages : pages.filter(({ icon }) => icon === 'endpoints')
  const isCurrent = (path: string) => (path === '/' ? location === '/' : location.startsWith(path))
  return (
    <>
      <a className="skip" href="#main">
        Skip to content
      </a>
      {offline && (
        <div className="banner" role="alert">
          The service cannot be reached. This page may be out of date. Reconnecting …
        </div>
      )}
      <div className="shell">
        <header className="side">
          <Link className="brand" href={who.admin ? '/' : '/console/endpoints'}>
            <Mark />
            Wellhead
          </Link>
          <nav className="nav" aria-label="Pages">
            {shown.map(({ path, name, icon }) => (
              <Link key={path} href={path} aria-current={isCurrent(path) ? 'page' : undefined}>
                <Icon name={icon} />
                {name}
              </Link>
            ))}
          </nav>
          <div className="side-foot">
            <p className="who">
              {who.admin ? 'Signed in as admin' : 'Signed in'}
              {who.project !== null && (
                <>
                  <br />
                  Project <b>{who.project}</b>
                </>
              )}
            </p>
            <div className="side-tools">
              <ThemeSwitch />
              <button type="button" className="button plain" onClick={() => session.close()}>
                <Icon name="leave" />
                Sign out
              </button>
            </div>
          </div>
        </header>
        <main className="main" id="main" tabIndex={-1}>
          {children}
        </main>
      </div>
    </>
  )
}

function ThemeSwitch() {
  const next = useTheme() === 'dark' ? 'light' : 'dark'
  const label = `Use the ${next} theme`
  return (
    <button
      type="button"
      className="button plain icon"
      aria-label={label}
      title={label}
      onClick={() => setTheme(next)}
    >
      <Icon name={next === 'dark' ? 'moon' : 'sun'} />
    </button>
  )
}
