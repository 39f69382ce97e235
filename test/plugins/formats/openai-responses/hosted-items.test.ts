/** Items of hosted tools, and which function is a search for tools. */
import t from 'tap'
import { encodeHostedCall } from '../../../../plugins/formats/openai-responses/hosted-tools.ts'
import { offersSearch, SEARCH } from '../../../../plugins/formats/openai-responses/tool-search.ts'

t.test('responses encoder: an MCP call has an output or an error', async t => {
  const itemOf = (result: object) =>
    encodeHostedCall(
      { tool: 'other', mcp: { server: 's', tool: 'f' }, input: { a: 1 }, ...result } as never,
      'x',
      'completed',
    )
  t.match(itemOf({ output: 'done' }), { type: 'mcp_call', output: 'done', error: null })
  t.match(itemOf({ output: 'half', error: 'broken' }), { output: null })
  t.match(itemOf({}), { output: null, error: null, arguments: '{"a":1}' })
})

t.test('responses decoder: only the own tool search is one', async t => {
  const tool = { type: 'function', name: SEARCH }
  const own = { ...tool, native: { origin: 'openai-responses', raw: {} } }
  t.ok(offersSearch({ tools: [own] } as never))
  t.notOk(offersSearch({ tools: [tool] } as never), 'a function of the client')
  t.notOk(offersSearch({ tools: [{ ...own, name: 'other' }] } as never))
  t.notOk(offersSearch({ tools: [{ ...own, type: 'free' }] } as never))
})
