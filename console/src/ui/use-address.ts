import { useCallback, useMemo } from 'react'
import { useLocation } from 'wouter'
// The router's own useSearch decodes the query twice.
import { useSearch } from 'wouter/use-browser-location'

type Changes = Record<string, string | undefined>

/** The query of the address as state: the back button steps through it, and a link holds the whole view. */
export function useAddress(): [URLSearchParams, (changes: Changes, how?: 'push' | 'replace') => void] {
  const search = useSearch()
  const [, navigate] = useLocation()
  const address = useMemo(() => new URLSearchParams(search), [search])
  const change = useCallback(
    (changes: Changes, how: 'push' | 'replace' = 'push') => {
      // Not from the state: several changes may come before the next render.
      const next = new URLSearchParams(location.search)
      const before = next.toString()
      for (const [name, value] of Object.entries(changes)) {
        if (value === undefined || value === '') next.delete(name)
        else next.set(name, value)
      }
      const text = next.toString()
      if (text === before) return
      const to = `${location.pathname}${text && `?${text}`}${location.hash}`
      navigate(to, { replace: how === 'replace', state: history.state })
    },
    [navigate],
  )
  return [address, change]
}

/** Whether a page shows its form for something new, which links and the palette open as well. */
export function useCreating(): [boolean, (creating: boolean) => void] {
  const [address, setAddress] = useAddress()
  return [address.has('_new'), (creating) => setAddress({ _new: creating ? '1' : undefined }, 'replace')]
}
