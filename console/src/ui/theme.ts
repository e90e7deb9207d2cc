import { useSyncExternalStore } from 'react'

export type Theme = 'light' | 'dark'

const key = 'wellhead.theme'
const listeners = new Set<() => void>()
const systemDark = matchMedia('(prefers-color-scheme: dark)')

function theme(): Theme {
  const chosen = localStorage.getItem(key)
  if (chosen === 'light' || chosen === 'dark') return chosen
  return systemDark.matches ? 'dark' : 'light'
}

function apply(): void {
  document.documentElement.dataset.theme = theme()
  for (const tell of listeners) tell()
}

export function startTheme(): void {
  apply()
  systemDark.addEventListener('change', apply)
}

export function setTheme(chosen: Theme): void {
  localStorage.setItem(key, chosen)
  apply()
}

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, theme)
}
