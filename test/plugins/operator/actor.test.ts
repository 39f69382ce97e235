/** The actor of an operation: the credential of its account, its address and its request. */
import t from 'tap'
import { object } from '../../../engine/config/shape.ts'
import { subcommandsOf } from '../../../plugins/operator/command-line.ts'
import { type Operation, originOf } from '../../../plugins/operator/operation.ts'
import { OPERATIONS } from '../../../plugins/operator/table.ts'
import { exchangeOf, hostOver, openAccounts } from '../../helpers/store/accounts.ts'

const ANN = { id: 7, name: 'ann', role: 'customer' } as const

t.test('actor: has the address, the request and the one credential that it came with', async t => {
  const exchange = { ...exchangeOf({ address: '198.51.100.9' }), id: 'req_1' }
  const origin = { account: 7, address: '198.51.100.9', request: 'req_1' }
  t.same(originOf(exchange, { ...ANN, session: 4 }), { ...origin, credential: 'session 4' })
  t.same(originOf(exchange, { ...ANN, token: 3 }), { ...origin, credential: 'system token 3' })
  const key = { id: 2, name: 'calls' }
  t.same(originOf(exchange, { ...ANN, key }), { ...origin, credential: 'key 2' })
  t.same(originOf(exchange, ANN), origin, 'an account that a plugin set has no credential')
})

t.test('actor: a command names the user of the operating system', async t => {
  const { database } = await openAccounts(t)
  const host = hostOver(database)
  const operation: Partial<Operation> = {
    name: 'things change',
    arguments: object(undefined, {}),
    command: { example: '', read: () => ({}), print: () => ({}) },
    async run({ store }) {
      await store.change([], { object: 'thing 1', before: null, after: null })
      return { data: {} }
    },
  }
  const list = OPERATIONS.filter(({ name }) => name === 'actions list')
  const commands = subcommandsOf([operation as Operation, ...list])
  await commands.change?.run({ values: {}, positionals: [] }, host)
  const result = await commands.list?.run({ values: {}, positionals: [] }, host)
  t.match(result, {
    json: [{ via: 'command line', actor: 'command line', user: /./, object: 'thing 1', seq: 1 }],
  })
})
