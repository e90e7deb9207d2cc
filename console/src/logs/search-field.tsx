import { type FormEvent, useEffect, useId, useState } from 'react'

export function SearchField({ query, onSearch }: { query: string; onSearch: (query: string) => void }) {
  const id = useId()
  const [text, setText] = useState(query)
  useEffect(() => setText(query), [query])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onSearch(text.trim())
  }
  return (
    <form className="field wide" onSubmit={submit}>
      <label htmlFor={id}>Search</label>
      <input
        id={id}
        className="input mono"
        type="search"
        spellCheck={false}
        placeholder="words  response.status_code:>=400  -request.method:GET"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </form>
  )
}
