import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { showBrand } from '../ui/brand/brand.ts'
import { startTheme } from '../ui/brand/theme.ts'
import { embedAddress } from './embed-address.ts'
import { EmbedPage } from './embed-page.tsx'
import { takeToken } from './embed-token.ts'

const address = embedAddress(location.pathname, location.search)
startTheme(address.theme)
showBrand()
createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <EmbedPage address={address} first={takeToken()} />
  </StrictMode>,
)
