import { useEffect, useRef, useState } from 'react'
import { Button } from '../ui/button.tsx'
import { Form, TextField } from '../ui/fields.tsx'
import { SnippetBox } from '../ui/snippets/snippet.tsx'
import { Failure } from '../ui/states.tsx'
import { milliseconds } from '../ui/text/format.ts'
import type { Operation } from './api-document.ts'
import { curlOf, exampleOf, fieldsOf, targetOf } from './api-request.ts'

/** Longer responses, and those that never end, are cut. */
const maxCharacters = 100_000

interface Answer {
  status: string
  isGood: boolean
  ms: number
  body: string
}

/** Sends a request with the token, and shows the response as it is. */
export function TryIt({ operation, token }: { operation: Operation; token: string }) {
  const [filled, setFilled] = useState(() => exampleOf(operation))
  const [state, setState] = useState<'idle' | 'sending' | Answer | Error>('idle')
  const current = useRef<AbortController>(undefined)
  useEffect(() => () => current.current?.abort(), [])
  const { values, body } = filled
  const isJson = operation.requestBody === undefined || 'application/json' in operation.requestBody.content
  const submit = async () => {
    const controller = new AbortController()
    current.current = controller
    setState('sending')
    const began = performance.now()
    try {
      const response = await fetch(targetOf(operation, filled), {
        method: operation.method,
        headers: {
          ...(token !== '' && { 'X-API-KEY': token }),
          ...(body !== '' && { 'Content-Type': 'application/json' }),
        },
        ...(body !== '' && { body }),
        signal: controller.signal,
      })
      const ms = performance.now() - began
      const shown = {
        status: `${response.status} ${response.statusText}`,
        isGood: response.ok,
        ms,
        body: '',
      }
      setState(shown)
      setState({ ...shown, body: await textOf(response, controller) })
    } catch (error) {
      if (!controller.signal.aborted) setState(error as Error)
    }
  }
  return (
    <>
      <h3>Try it</h3>
      {isJson && (
        <Form className="stack" onSubmit={() => submit()}>
          <div className="form-grid">
            {fieldsOf(operation, filled).map(({ name, required, example }) => (
              <TextField
                key={name}
                label={name}
                className="mono"
                required={required ?? false}
                placeholder={example === undefined ? undefined : String(example)}
                value={values[name] ?? ''}
                onChange={(value) =>
                  setFilled((now) => ({ ...now, values: changed(now.values, name, value) }))
                }
              />
            ))}
          </div>
          {operation.requestBody && (
            <div className="field">
              <label htmlFor={`${operation.operationId}-body`}>Body</label>
              <textarea
                id={`${operation.operationId}-body`}
                className="input mono"
                rows={Math.min(16, body.split('\n').length + 1)}
                spellCheck={false}
                value={body}
                onChange={(event) => setFilled((now) => ({ ...now, body: event.target.value }))}
              />
            </div>
          )}
          <div className="actions">
            <Button type="submit" look="primary" disabled={state === 'sending'}>
              {state === 'sending' ? 'Sending …' : 'Send request'}
            </Button>
          </div>
        </Form>
      )}
      {state instanceof Error && <Failure error={state} />}
      {typeof state === 'object' && !(state instanceof Error) && (
        <div className="stack" role="status" aria-label="Response">
          <p>
            <span className={`badge ${state.isGood ? 'good' : 'bad'}`}>{state.status}</span>{' '}
            <span className="faint">{milliseconds(state.ms)}</span>
          </p>
          {state.body !== '' && (
            <pre className="json-text" tabIndex={0} role="region" aria-label="Body of the response">
              {state.body}
            </pre>
          )}
        </div>
      )}
      <SnippetBox text={curlOf(operation, filled, location.origin)} label="As a command" />
    </>
  )
}

/** An empty value of an optional parameter is not sent. */
function changed(values: Record<string, string>, name: string, value: string): Record<string, string> {
  const { [name]: _, ...rest } = values
  return value === '' ? rest : { ...values, [name]: value }
}

async function textOf(response: Response, controller: AbortController): Promise<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const { done = true, value = '' } = (await reader?.read()) ?? {}
    text += value
    if (done) return pretty(text)
    if (text.length > maxCharacters || /event-stream/.test(response.headers.get('content-type') ?? '')) {
      controller.abort()
      return `${text.slice(0, maxCharacters)}\n…`
    }
  }
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
