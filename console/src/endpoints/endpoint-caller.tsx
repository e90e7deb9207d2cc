import { callEndpoint } from '../api/call-endpoint.ts'
import type { CallableEndpoint, Whoami } from '../api/shapes.ts'
import { EndpointDocs } from '../customer/endpoint-docs.tsx'
import { Choices } from '../ui/choices.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { useAddress } from '../ui/use-address.ts'
import { EndpointResult } from './result/endpoint-result.tsx'
import { LiveToggle } from './run/live-toggle.tsx'
import { ParameterForm, RunButton } from './run/parameter-form.tsx'
import { useLiveResult } from './run/use-live-result.ts'
import { useParameterValues } from './run/use-parameter-values.ts'
import { useRun } from './run/use-run.ts'

const tabs = [
  ['try', 'Try it'],
  ['docs', 'Documentation'],
] as const

/** The page of an endpoint for tokens that can request it but not change it. */
export function EndpointCaller({ endpoint, who }: { endpoint: CallableEndpoint; who: Whoami }) {
  const { name, description, parameters, columns, chart } = endpoint
  const [address, setAddress] = useAddress()
  const tab = address.get('_tab') === 'docs' ? 'docs' : 'try'
  const parameterValues = useParameterValues(parameters)
  const { values, missing, change, keep } = parameterValues
  const { run, begin, stop, show, problem } = useRun(
    (signal) => {
      live.stop()
      return callEndpoint(name, values, signal)
    },
    parameterValues,
    { asked: JSON.stringify(values), hasShortcut: tab === 'try', auto: tab === 'try' },
  )
  const live = useLiveResult(tab === 'try' ? name : undefined, values, show)
  const toggleLive = () => {
    if (live.live !== 'off') return live.stop()
    // A run reports which value is missing.
    if (missing.length > 0) return begin()
    keep()
    live.start()
  }
  return (
    <div className="page">
      <PageHead title={name}>
        <p>{description}</p>
      </PageHead>
      <Choices
        label="Part of the endpoint"
        options={tabs}
        value={tab}
        onChange={(chosen) => setAddress({ _tab: chosen === 'try' ? undefined : chosen })}
      />
      {tab === 'docs' ? (
        <EndpointDocs endpoint={endpoint} values={values} fixed={who.parameters} />
      ) : (
        <>
          <form
            className="card card-body"
            onSubmit={(event) => {
              event.preventDefault()
              begin()
            }}
          >
            <div className="form-grid">
              <ParameterForm
                parameters={parameters}
                fixed={who.parameters}
                values={values}
                problem={problem}
                seenAt={() => undefined}
                onChange={change}
              />
            </div>
            <div className="actions">
              <RunButton run={run} stop={stop} />
              <LiveToggle live={live.live} onToggle={toggleLive} />
            </div>
          </form>
          <EndpointResult run={run} columns={columns} name={name} values={values} chart={chart} />
        </>
      )}
    </div>
  )
}
