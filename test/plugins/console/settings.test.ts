/** The section `console:`: the length of sessions, and an admin API that the public listener does
 *  not serve. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { startConsole } from '../../helpers/console/console-gateway.ts'

const schema = new URL('../../../schemas/session.json', import.meta.url)
const gateway = await startConsole(t, {
  files: { 'schemas/session.json': readFileSync(schema, 'utf8') },
  routes: `
pipeline: [errors, auth, validate, meter, console]
console: { admin: false, session: 1h }
routes:
  - { path: GET /console, auth: none, console: page, errors: envelope }
  - path: POST /api/session
    auth: none
    validate: schemas/session.json
    console: sign-in
    errors: envelope
  - path: GET|POST /api/admin/{resource}
    auth: { by: [system-token, session], role: admin }
    console: admin
    errors: envelope
`,
})

t.test('console.session: sets the life of the cookie', async t => {
  const { headers } = await gateway.ask('POST', '/api/session', { token: gateway.token })
  t.match(headers.get('set-cookie'), /; Max-Age=3600;/)
})

t.test('console.admin false: the public listener refuses, the admin listener serves', async t => {
  const operator = await gateway.signIn({ token: gateway.token })
  for (const [method, body] of [['GET'], ['POST', { name: 'ann' }]] as const) {
    const reply = await operator.ask(method, '/api/admin/accounts', body)
    t.equal(reply.status, 404)
    t.match(reply.body.message, /switched off/)
  }
  const { body } = await gateway.ask('POST', '/api/session', { token: gateway.token })
  t.match(body.data, { account: { role: 'admin' }, admin: false })
  const response = await fetch(`${gateway.admin}/-/admin/accounts`)
  t.match(await response.json(), { data: [{ name: 'admin' }] })
})
