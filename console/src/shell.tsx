import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import type { Whoami } from './api/api-types.ts'
import { useOffline } from './api/connection.ts'
import { session } from './api/session.ts'
import { Icon, type IconName, Mark } from './ui/icon.tsx'
import { setTheme, useTheme } from './ui/theme.ts'

interface Place {
  path: string
  name: string
  icon: IconName
}

const forAdmins: Place[] = [
  { path: '/', name: 'Overview', icon: 'overview' },
  { path: '/console/endpoints', name: 'Endpoints', icon: 'endpoints' },
  { path: '/console/explore', name: 'Logs', icon: 'logs' },
  { path: '/console/sources', name: 'Sources', icon: 'sources' },
  { path: '/console/tokens', name: 'Tokens', icon: 'tokens' },
]

export function Shell({ who, children }: { who: Whoami; children: ReactNode }) {
  const [location] = useLocation()
  const offline = useOffline()
  const places = who.admin ? forAdmins : forAdmins.filter(({ icon }) => icon === 'endpoints')
  const isHere = (path: string) => (path === '/' ? location === '/' : location.startsWith(path))
  return (
    <>
      <a className="skip" href="#main">
        To the content
      </a>
      {offline && (
        <div className="banner" role="alert">
          The service cannot be reached. What you see may be old; trying again …
        </div>
      )}
      <div className="shell">
        <header className="side">
          <Link className="brand" href={who.admin ? '/' : '/console/endpoints'}>
            <Mark />
            Wellhead
          </Link>
          <nav className="nav" aria-label="Pages">
            {places.map(({ path, name, icon }) => (
              <Link key={path} href={path} aria-current={isHere(path) ? 'page' : undefined}>
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
  const theme = useTheme()
  const next = theme === 'dark' ? 'light' : 'dark'
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
