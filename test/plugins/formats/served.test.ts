/** Texts of answers that PostgreSQL cannot store are left out of the facts about a call. */
import t from 'tap'
import { servedByHeaders, servedOf } from '../../../plugins/formats/served.ts'

const REFUSED = ['a\0b', '\ud800', 'b\udc00', '\udc00\ud800']
t.test('served facts: U+0000 and unpaired surrogates are left out', async t => {
  const tier = { service_tier: 'flex' }
  t.same(servedOf('a', 'm😀', tier), { id: 'a', model: 'm😀', attributes: tier })
  for (const text of REFUSED) {
    t.same(servedOf(text, text, { service_tier: text }), {}, JSON.stringify(text))
    const call = { id: 'own', request: { headers: {} } }
    t.same(servedByHeaders({ 'request-id': text, 'x-ms-region': text }, call), {})
  }
})
