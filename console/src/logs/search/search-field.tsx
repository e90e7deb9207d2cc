import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { Form } from '../../ui/fields.tsx'
import { SearchHelp } from './search-help.tsx'
import { SearchProblem } from './search-problem.tsx'
import { typedPartAt } from './typed-part.ts'
import { type SearchScope, type Suggestion, useSuggestions } from './use-suggestions.ts'

interface SearchFieldProps {
  query: string
  scope: SearchScope
  /** Why the service did not understand the query. */
  error: Error | undefined
  onFocus: () => void
  onSearch: (query: string) => void
}

/** The search with suggestions. Only those that were chosen are accepted: by a click, Tab, or an arrow and Enter. */
export function SearchField({ query, scope, error, onFocus, onSearch }: SearchFieldProps) {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [text, setText] = useState(query)
  const [caret, setCaret] = useState<number>()
  const [active, setActive] = useState(-1)
  const wanted = useRef<number>(undefined)
  useEffect(() => setText(query), [query])
  // React sets the text, which moves the caret to its end.
  // biome-ignore lint/correctness/useExhaustiveDependencies: after an accepted suggestion
  useLayoutEffect(() => {
    if (wanted.current !== undefined) input.current?.setSelectionRange(wanted.current, wanted.current)
    wanted.current = undefined
  }, [text])
  const part = caret === undefined ? undefined : typedPartAt(text, caret)
  const suggestions = useSuggestions(scope, part)
  const isOpen = suggestions.length > 0
  const close = () => {
    setCaret(undefined)
    setActive(-1)
  }
  const open = () => {
    setCaret(input.current?.selectionStart ?? text.length)
    setActive(-1)
  }
  const accept = (chosen: Suggestion) => {
    if (!part) return
    const after = text.slice(part.to)
    const added = chosen.text.endsWith(' ') && /^[\s)]/.test(after) ? chosen.text.trimEnd() : chosen.text
    const at = part.from + added.length
    wanted.current = at
    setText(text.slice(0, part.from) + added + after)
    setActive(-1)
    // After a field come its values.
    setCaret(added.endsWith(':') ? at : undefined)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return
    const { key, shiftKey } = event
    if (key === 'ArrowDown' || key === 'ArrowUp') {
      event.preventDefault()
      if (!isOpen) return open()
      const places = suggestions.length + 1
      setActive(((active + 1 + (key === 'ArrowDown' ? 1 : -1) + places) % places) - 1)
    } else if (key === 'Escape' && isOpen) {
      event.preventDefault()
      close()
    } else if (key === 'Tab' && !shiftKey && isOpen) {
      const chosen = suggestions[active] ?? (part?.text ? suggestions[0] : undefined)
      if (!chosen) return
      event.preventDefault()
      accept(chosen)
    } else if (key === 'Enter') {
      event.preventDefault()
      const chosen = suggestions[active]
      if (isOpen && chosen) return accept(chosen)
      close()
      onSearch(text.trim())
    }
  }
  return (
    <Form className="field search-line" onSubmit={() => onSearch(text.trim())}>
      <label htmlFor={id}>Search</label>
      <div className="search-box">
        <input
          ref={input}
          id={id}
          className="input mono"
          role="combobox"
          aria-autocomplete="list"
          aria-expanded={isOpen}
          aria-controls={`${id}-list`}
          aria-activedescendant={active >= 0 ? `${id}-${active}` : undefined}
          aria-invalid={error !== undefined}
          aria-describedby={error && `${id}-problem`}
          spellCheck={false}
          autoCapitalize="none"
          autoComplete="off"
          enterKeyHint="search"
          placeholder='timeout  status:>=500  path:/rest/*  (method:POST OR "two words")'
          maxLength={5_000}
          value={text}
          onChange={({ target }) => {
            setText(target.value)
            setCaret(target.selectionStart ?? target.value.length)
            setActive(-1)
          }}
          onKeyDown={onKeyDown}
          onFocus={onFocus}
          onBlur={close}
        />
        <div id={`${id}-list`} className="suggested" role="listbox" aria-label="Suggestions" hidden={!isOpen}>
          {suggestions.map((one, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus and handles keys
            <div
              key={one.label}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === active}
              // Keeps the focus in the field.
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => accept(one)}
            >
              <span>{one.label === '' ? '""' : one.label}</span>
              <span className="faint">{one.note}</span>
            </div>
          ))}
        </div>
        <Button type="submit" look="primary" icon="search">
          Search
        </Button>
      </div>
      {error && <SearchProblem id={`${id}-problem`} query={query} error={error} />}
      <SearchHelp />
    </Form>
  )
}
