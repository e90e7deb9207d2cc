import { callEndpoint } from '../api/call-endpoint.ts'
import type { CallableEndpoint, Whoami } from '../api/shapes.ts'
import { PageHead } from '../ui/page-head.tsx'
import { EndpointResult } from './result/endpoint-result.tsx'
import { ParameterForm, RunButton } from './run/parameter-form.tsx'
import { useParameterValues } from './run/use-parameter-values.ts'
import { useRun } from './run/use-run.ts'

/** The page of an endpoint for tokens that can call it but not change it. */
export function EndpointCaller({ endpoint, who }: { endpoint: CallableEndpoint; who: Whoami }) {
  const { name, description, parameters, columns, chart } = endpoint
  const parameterValues = useParameterValues(parameters)
  const { values, change } = parameterValues
  const { run, begin, stop, problem } = useRun(
    (signal) => callEndpoint(name, values, signal),
    parameterValues,
  )
  return (
    <div className="page">
      <PageHead title={name}>
        <p>{description}</p>
      </PageHead>
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
        <div>
          <RunButton run={run} stop={stop} />
        </div>
      </form>
      <EndpointResult run={run} columns={columns} name={name} values={values} chart={chart} />
    </div>
  )
}
