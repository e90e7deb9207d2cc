import { callEndpoint } from '../api/call-endpoint.ts'
import type { CallableEndpoint, Whoami } from '../api/shapes.ts'
import { LiveToggle } from '../live/live-toggle.tsx'
import { useLiveResult } from '../live/use-live-result.ts'
import { QueryResult } from '../query/result/query-result.tsx'
import { ParameterForm, RunButton } from '../query/run/parameter-form.tsx'
import { useParameterValues } from '../query/run/use-parameter-values.ts'
import { useRun } from '../query/run/use-run.ts'
import { Choices } from '../ui/choices.tsx'
import { Form } from '../ui/fields.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { useAddress } from '../ui/use-address.ts'
import { EndpointDocs } from './endpoint-docs.tsx'

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
  const { values, change } = parameterValues
  const { run, begin, stop, show, problem } = useRun(
    (signal) => {
      live.stop()
      return callEndpoint(name, values, signal)
    },
    parameterValues,
    { asked: JSON.stringify(values), hasShortcut: tab === 'try', auto: tab === 'try' },
  )
  const live = useLiveResult(tab === 'try' ? name : undefined, parameterValues, show, begin)
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
          <Form className="card card-body" onSubmit={begin}>
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
              <LiveToggle live={live.live} onToggle={live.toggle} />
            </div>
          </Form>
          <QueryResult
            run={run}
            columns={columns}
            name={name}
            values={values}
            chart={chart}
            hasCost={false}
          />
        </>
      )}
    </div>
  )
}
