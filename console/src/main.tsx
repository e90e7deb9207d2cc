import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from './api/queries.ts'
import { session } from './api/session.ts'
import { App } from './app.tsx'
import { showBrand } from './ui/brand/brand.ts'
import { startTheme } from './ui/brand/theme.ts'

startTheme()
showBrand()
session.watch()
createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
)
