/** Conversation items: added, read, paged and deleted with the official client. */
import type { ConversationItem } from 'openai/resources/conversations/items'
import t from 'tap'
import { plain, refused, response } from '../../helpers/stored.ts'
import { mine, other, sentBody, upstream } from './stored-gateway.ts'

const { items } = mine.conversations

const messageItem = (role: 'user' | 'assistant', content: string) =>
  ({ type: 'message', role, content }) as const
const textOf = (item: ConversationItem) =>
  item.type === 'message' && item.content[0] && 'text' in item.content[0]
    ? item.content[0].text
    : ''
const allTexts = async (id: string) => {
  const texts: string[] = []
  for await (const item of items.list(id, { order: 'asc', limit: 2 })) texts.push(textOf(item))
  return texts
}

t.test(
  'conversation items: are added, read and deleted without changing the ids of others',
  async t => {
    const { id } = await mine.conversations.create({
      items: [messageItem('user', 'one'), messageItem('user', 'two')],
    })
    const addition = await items.create(id, {
      items: [
        messageItem('user', 'three'),
        messageItem('assistant', 'four'),
        messageItem('user', 'five'),
      ],
    })
    t.match(addition, {
      object: 'list',
      has_more: false,
      data: [{ role: 'user' }, { role: 'assistant' }, {}],
    })
    t.equal(addition.first_id, addition.data[0]?.id)
    t.same(await allTexts(id), ['one', 'two', 'three', 'four', 'five'], 'in order, page after page')

    const [three, four, five] = addition.data.map(item => item.id ?? '')
    if (!three || !four || !five) throw new Error('an item without an id')
    const of = { conversation_id: id }
    t.match(await items.retrieve(four, of), {
      id: four,
      role: 'assistant',
      content: [{ type: 'output_text', text: 'four' }],
    })
    t.match(await items.delete(four, of), { id, object: 'conversation', metadata: {} })
    await refused(t, items.retrieve(four, of), 404, {
      type: 'invalid_request_error',
      message: new RegExp(four),
    })
    await refused(t, items.delete(four, of), 404)
    t.equal(textOf(await items.retrieve(five, of)), 'five', 'by its id')
    // Concurrent deletions in one turn do not undo each other.
    await Promise.all([items.delete(three, of), items.delete(five, of)])
    t.same(await allTexts(id), ['one', 'two'])
  },
)

t.test('conversation items: include answers, and deleted ones are not sent again', async t => {
  const { id } = await mine.conversations.create()
  await upstream.script('gp', plain(response('resp_i1', 'Ada')), plain(response('resp_i2', 'Who?')))
  await mine.responses.create({ model: 'gp', input: 'A name?', conversation: id })
  const [ada] = (await items.list(id)).data
  t.equal(ada && textOf(ada), 'Ada')
  await items.create(id, { items: [messageItem('user', 'I have met her.')] })
  await items.delete(ada?.id ?? '', { conversation_id: id })
  await mine.responses.create({ model: 'gp', input: 'And you?', conversation: id })
  const input = JSON.stringify((await sentBody('gp')).input)
  t.match(input, /A name\?.*I have met her.*And you/)
  t.notMatch(input, 'Ada')
  t.same(await allTexts(id), ['A name?', 'I have met her.', 'And you?', 'Who?'])
})

t.test('conversation: an update replaces its metadata', async t => {
  const { id } = await mine.conversations.create({ metadata: { a: 'b' } })
  t.match(await mine.conversations.update(id, { metadata: { c: 'd' } }), {
    id,
    metadata: { c: 'd' },
  })
  t.same((await mine.conversations.retrieve(id)).metadata, { c: 'd' })
  t.same((await mine.conversations.update(id, { metadata: null })).metadata, {})
})

t.test('conversation: refuses invalid requests and other accounts', async t => {
  const { id } = await mine.conversations.create({ items: [messageItem('user', 'mine')] })
  const [item] = (await items.list(id)).data
  const of = { conversation_id: id }
  await refused(t, items.create(id, { items: [] }), 400, { param: 'items' })
  await refused(t, items.create(id, {} as never), 400, { param: 'items' })
  await refused(t, items.create(id, { items: [{ content: 'x' }] as never }), 400)
  await refused(t, items.create(id, { items: Array(21).fill(messageItem('user', 'x')) }), 400, {
    param: 'items',
  })
  await refused(t, items.create(id, { items: [messageItem('user', 'x'.repeat(300_000))] }), 400, {
    param: 'items',
  })
  await refused(t, items.retrieve('msg_none', of), 404)
  await refused(t, items.create('conv_none', { items: [messageItem('user', 'x')] }), 404)
  await refused(t, mine.conversations.update('conv_none', { metadata: {} }), 404)
  for (const call of [
    () => other.conversations.items.retrieve(item?.id ?? '', of),
    () => other.conversations.items.delete(item?.id ?? '', of),
    () => other.conversations.items.create(id, { items: [messageItem('user', 'x')] }),
    () => other.conversations.update(id, { metadata: {} }),
  ])
    await refused(t, call(), 404)
  t.same(await allTexts(id), ['mine'])
})
