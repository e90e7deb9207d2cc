import { useSyncExternalStore } from 'react'
import { watchable } from '../../api/watchable.ts'
import { readPreference } from '../preference.ts'

type Theme = 'light' | 'dark'

const key = 'wellhead.theme'
const watched = watchable()
const systemDark = matchMedia('(prefers-color-scheme: dark)')

let fixed: Theme | undefined
// Chromium reports no change to the listener if `matches` is read between the change and its report.
let isSystemDark = systemDark.matches

function theme(): Theme {
  const chosen = fixed ?? readPreference(key)
  if (chosen === 'light' || chosen === 'dark') return chosen
  return isSystemDark ? 'dark' : 'light'
}

function apply(): void {
  document.documentElement.dataset.theme = theme()
  watched.changed()
}

/** A fixed theme takes precedence over the user's choice. */
export function startTheme(chosen?: Theme): void {
  fixed = chosen
  apply()
  systemDark.addEventListener('change', ({ matches }) => {
    isSystemDark = matches
    apply()
  })
}

export function setTheme(chosen: Theme): void {
  localStorage.setItem(key, chosen)
  apply()
}

export const useTheme = (): Theme => useSyncExternalStore(watched.subscribe, theme)
