import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { FiringBadge } from './alerts/alert-badges.tsx'
import { useConnection } from './api/connection.ts'
import { session } from './api/session.ts'
import type { Whoami } from './api/shapes.ts'
import { Palette } from './help/palette.tsx'
import { ShortcutList } from './help/shortcut-list.tsx'
import { commandKey, useShortcuts } from './help/use-shortcuts.ts'
import { hasIssuer, useProductName } from './ui/brand/brand.ts'
import { setTheme, useTheme } from './ui/brand/theme.ts'
import { Button } from './ui/button.tsx'
import { ZoneChoice } from './ui/choices.tsx'
import { Icon, Mark } from './ui/icon.tsx'

const pages = [
  { path: '/', name: 'Overview', icon: 'overview' },
  { path: '/console/endpoints', name: 'Endpoints', icon: 'endpoints' },
  { path: '/console/playground', name: 'Playground', icon: 'playground' },
  { path: '/console/logs', name: 'Logs', icon: 'logs' },
  { path: '/console/dashboards', name: 'Dashboards', icon: 'dashboards' },
  { path: '/console/alerts', name: 'Alerts', icon: 'alerts' },
  { path: '/console/usage', name: 'Usage', icon: 'overview' },
  { path: '/console/sources', name: 'Sources', icon: 'sources' },
  { path: '/console/sources', name: 'Send logs', icon: 'sources' },
  { path: '/console/tables', name: 'Tables', icon: 'column' },
  { path: '/console/projects', name: 'Projects', icon: 'overview' },
  { path: '/console/tokens', name: 'Tokens', icon: 'tokens' },
  { path: '/console/people', name: 'People', icon: 'people' },
  { path: '/console/audit', name: 'Audit', icon: 'book' },
] as const

/** Pages that only admins have. */
const ofAdmins = ['Tokens', 'People', 'Audit']

function pagesOf({ admin, role, query, ingest, logs, dashboards }: Whoami) {
  const others = { Endpoints: query, Dashboards: dashboards, Logs: logs, Usage: query, 'Send logs': ingest }
  return pages.filter(({ name }) =>
    role === null
      ? others[name as keyof typeof others]
      : name !== 'Usage' &&
        name !== 'Send logs' &&
        (admin || !ofAdmins.includes(name)) &&
        (hasIssuer || name !== 'People'),
  )
}

/** Around a page that needs no token. */
export function PublicPage({ children }: { children: ReactNode }) {
  const product = useProductName()
  return (
    <div className="public-page">
      <header>
        <a className="brand" href="/docs">
          <Mark />
          {product}
        </a>
        <a className="button" href="/">
          Sign in
        </a>
      </header>
      <main>{children}</main>
    </div>
  )
}

/** Where a token begins. */
export const homeOf = (who: Whoami): string => pagesOf(who)[0]?.path ?? '/console/endpoints'

const banners = {
  offline: 'The service cannot be reached. This page may be out of date. Reconnecting …',
  starting: 'The engine is starting. Data appears here when it is ready.',
}

export function Shell({ who, children }: { who: Whoami; children: ReactNode }) {
  const [location] = useLocation()
  const connection = useConnection()
  const product = useProductName()
  const [dialog, setDialog] = useState<'palette' | 'help'>()
  const onPalette = useCallback(() => setDialog('palette'), [])
  const onHelp = useCallback(() => setDialog('help'), [])
  const close = () => setDialog(undefined)
  useShortcuts({ onPalette, onHelp })
  const drawer = useRef<HTMLDivElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page closes it
  useEffect(() => drawer.current?.hidePopover(), [location])
  const isCurrent = (path: string) => (path === '/' ? location === '/' : location.startsWith(path))
  return (
    <>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <div className="shell">
        <header className="side">
          <Link className="brand" href={homeOf(who)}>
            <Mark />
            {product}
          </Link>
          <button type="button" className="find" onClick={onPalette}>
            <Icon name="search" />
            Go to
            <kbd>{commandKey} K</kbd>
          </button>
          <button type="button" className="button icon menu-button" popoverTarget="pages" aria-label="Menu">
            <Icon name="menu" />
          </button>
          {/* On a narrow screen, a drawer; otherwise, a part of the side. */}
          <div className="drawer" id="pages" ref={drawer} popover="auto">
            <nav className="nav" aria-label="Pages">
              {pagesOf(who).map(({ path, name, icon }) => (
                <Link key={path} href={path} aria-current={isCurrent(path) ? 'page' : undefined}>
                  <Icon name={icon} />
                  {name}
                  {name === 'Alerts' && <FiringBadge />}
                </Link>
              ))}
            </nav>
            <div className="side-foot">
              <SignedInAs who={who} />
              <ZoneChoice />
              <div className="side-tools">
                <Link className="button plain" href="/docs">
                  <Icon name="book" />
                  API docs
                </Link>
                <Button
                  look="plain icon"
                  aria-label="Keyboard shortcuts"
                  title="Keyboard shortcuts (?)"
                  onClick={onHelp}
                  icon="help"
                />
                <ThemeSwitch />
                <Button look="plain" onClick={() => void session.close()} icon="leave">
                  Sign out
                </Button>
              </div>
            </div>
          </div>
        </header>
        <main className="main" id="main" tabIndex={-1}>
          {connection !== 'up' && (
            <div className="banner" role="alert">
              {banners[connection]}
            </div>
          )}
          {children}
        </main>
      </div>
      {dialog === 'palette' && <Palette who={who} pages={pagesOf(who)} onHelp={onHelp} onClose={close} />}
      {dialog === 'help' && <ShortcutList onClose={close} />}
    </>
  )
}

function SignedInAs({ who }: { who: Whoami }) {
  const { id, type, role, project, session: isSession } = who
  const name = who.name || `token ${id.slice(0, 8)}`
  return (
    <p className="who">
      <span>
        Signed in as <b>{name}</b>
      </span>
      {type === 'person' && role !== null && <span>{role}</span>}
      {project !== null && (
        <span>
          Project <b>{project}</b>
        </span>
      )}
      {isSession && <span>Browser session</span>}
    </p>
  )
}

function ThemeSwitch() {
  const next = useTheme() === 'dark' ? 'light' : 'dark'
  const label = `Use the ${next} theme`
  return (
    <Button
      look="plain icon"
      aria-label={label}
      title={label}
      onClick={() => setTheme(next)}
      icon={next === 'dark' ? 'moon' : 'sun'}
    />
  )
}
