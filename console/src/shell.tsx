import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { FiringBadge } from './alerts/alert-badges.tsx'
import { useConnection } from './api/connection.ts'
import { session } from './api/session.ts'
import type { Whoami } from './api/shapes.ts'
import { Palette } from './help/palette.tsx'
import { ShortcutList } from './help/shortcut-list.tsx'
import { commandKey, useShortcuts } from './help/use-shortcuts.ts'
import { homeOf, linksOf } from './navigation.ts'
import { hasIssuer, useProductName } from './ui/brand/brand.ts'
import { setTheme, useTheme } from './ui/brand/theme.ts'
import { Button } from './ui/button.tsx'
import { ZoneChoice } from './ui/choices.tsx'
import { Icon, Mark } from './ui/icon.tsx'

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
              {linksOf(who, hasIssuer).map(({ path, name, icon }) => (
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
      {dialog === 'palette' && (
        <Palette who={who} pages={linksOf(who, hasIssuer)} onHelp={onHelp} onClose={close} />
      )}
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
