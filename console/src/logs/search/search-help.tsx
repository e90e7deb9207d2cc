const examples = [
  [
    'timeout "two words"',
    'The message or a value contains each of them, ignoring case. message:timeout looks at the message alone.',
  ],
  [
    'status:500 request.method:POST',
    'A field has this value: a typed column, its short name, or a path of metadata.',
  ],
  ['status:>=500 origin_time:100..200', 'A number in a range; also >, < and <=.'],
  ['status:5xx', 'A number from 500 to 599, in any field, also if it is stored as text.'],
  ['request.path:/rest/*', 'The value begins with this text. A star alone means any value.'],
  ['-status:200 NOT timeout', 'Not this. Entries without the field are included.'],
  ['status:(502 OR 504) AND (GET OR POST)', 'Alternatives. A space means AND, which binds before OR.'],
  ['0190a5c2-7d3e-7cc0-9a51-2f6b7f2f0e11', 'The entry with this id, or one that contains it.'],
] as const

export function SearchHelp() {
  return (
    <details className="search-help">
      <summary>How to search</summary>
      <dl>
        {examples.map(([example, meaning]) => (
          <div key={example}>
            <dt>
              <code>{example}</code>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <p>
        While you type, the arrow keys and Enter, or Tab, accept a suggestion. Enter alone searches. Escape
        closes the suggestions.
      </p>
    </details>
  )
}
