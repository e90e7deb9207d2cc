import { alike, answered, bodyErrors, jsonBody, reference } from './operation.ts'

export const deploymentOperations = alike({ tag: 'Endpoints', access: 'admin' }, [
  {
    method: 'post',
    path: '/api/deployments',
    id: 'deployEndpoints',
    summary: 'Deploy endpoints, all or none',
    description:
      'Makes and changes endpoints in one step. Each is checked as when it is saved; if one cannot be, nothing is changed.',
    body: jsonBody('Deployment', {
      endpoints: [
        { name: 'requests.count', query: 'SELECT count() AS n FROM edge_logs', expected_version: 0 },
      ],
      dry_run: true,
    }),
    answers: { 200: answered('What was done, or would be.', reference('DeploymentAnswer')) },
    errors: [...bodyErrors, 409, 412, 422],
  },
])
