import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { showBrand } from '../ui/brand/brand.ts'
import { startTheme } from '../ui/brand/theme.ts'
import { EmbeddedDashboard, SharedDashboard } from './dashboard-pages.tsx'
import { embedAddress } from './embed-address.ts'
import { EmbedPage } from './embed-page.tsx'
import { takeToken, tellHeight } from './embed-token.ts'

const address = embedAddress(location.pathname, location.search)
const token = takeToken()
startTheme(address.theme)
showBrand()
tellHeight()
const [, first, second, ...rest] = location.pathname.split('/')
const isDashboard = first === 'embed' && second === 'dashboards' && rest.length === 1
createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    {first === 'shared' ? (
      <SharedDashboard secret={second ?? ''} />
    ) : isDashboard ? (
      <EmbeddedDashboard name={decodeURIComponent(rest[0] ?? '')} hasTitle={address.hasTitle} first={token} />
    ) : (
      <EmbedPage address={address} first={token} />
    )}
  </StrictMode>,
)
