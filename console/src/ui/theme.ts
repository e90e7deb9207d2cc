import { useSyncExternalStore } from 'react'
import { watchable } from '../api/watchable.ts'

type Theme = 'light' | 'dark'

const key = 'wellhead.theme'
const watched = watchable()
const systemDark = matchMedia('(prefers-color-scheme: dark)')

function theme(): Theme {
  const chosen = localStorage.getItem(key)
  if (chosen === 'light' || chosen === 'dark') return chosen
  return systemDark.matches ? 'dark' : 'light'
}

function apply(): void {
  document.documentElement.dataset.theme = theme()
  watched.changed()
}

export function startTheme(): void {
  apply()
  systemDark.addEventListener('change', apply)
}

export function setTheme(chosen: Theme): void {
  localStorage.setItem(key, chosen)
  apply()
}

export const useTheme = (): Theme => useSyncExternalStore(watched.subscribe, theme)
