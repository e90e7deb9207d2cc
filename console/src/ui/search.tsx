import type { ComponentProps } from 'react'

/** The words of a search. */
export function wordsOf(search: string): string[] {
  return search.toLowerCase().split(/\s+/).filter(Boolean)
}

/** Whether the text contains each word, ignoring case. */
export function matches(text: string, words: readonly string[]): boolean {
  const lower = text.toLowerCase()
  return words.every((word) => lower.includes(word))
}

type SearchInputProps = Omit<ComponentProps<'input'>, 'onChange'> & {
  label: string
  value: string
  onChange: (text: string) => void
}

export function SearchInput({ label, className = '', onChange, ...rest }: SearchInputProps) {
  return (
    <input
      {...rest}
      className={`input ${className}`}
      type="search"
      aria-label={label}
      spellCheck={false}
      onChange={(event) => onChange(event.target.value)}
    />
  )
}
