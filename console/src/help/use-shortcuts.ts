import { useEffect } from 'react'
import { isTyping } from '../ui/typing.ts'

const isMac = /mac|iphone|ipad/i.test(navigator.userAgent)

/** The key beside the letter, as the keyboard names it. */
export const commandKey = isMac ? '⌘' : 'Ctrl'

interface Shortcuts {
  onPalette: () => void
  onHelp: () => void
}

/** Keys that work on every page, unless the user is typing or a dialog is open. */
export function useShortcuts({ onPalette, onHelp }: Shortcuts): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey } = event
      if (event.defaultPrevented || altKey || document.querySelector('dialog[open]')) return
      const isCommand = ctrlKey || metaKey
      if (isCommand ? key.toLowerCase() !== 'k' : !['/', '?'].includes(key) || isTyping(event)) return
      event.preventDefault()
      if (isCommand) return onPalette()
      if (key === '?') return onHelp()
      const field = [
        ...document.querySelectorAll<HTMLElement>('main [type=search], main [enterkeyhint=search]'),
      ]
      const shown = field.find((one) => one.offsetParent !== null)
      if (shown) shown.focus()
      else onPalette()
    }
    // Before the editor, which has keys of its own.
    document.addEventListener('keydown', onKey, { capture: true })
    return () => document.removeEventListener('keydown', onKey, { capture: true })
  }, [onPalette, onHelp])
}
