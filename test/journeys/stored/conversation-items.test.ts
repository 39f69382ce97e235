/** Conversation items: added, read, paged and deleted with the official client. */
import type { ConversationItem } from 'openai/resources/conversations/items'
import t from 'tap'
import { plainReply, rejectsWith, responseBody } from '../../helpers/gateway/stored-responses.ts'
import { otherClient, ownClient, sentBody, upstream } from './stored-gateway.ts'

const { items } = ownClient.conversations

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
    const { id } = await ownClient.conversations.create({
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
    const conversation = { conversation_id: id }
    t.match(await items.retrieve(four, conversation), {
      id: four,
      role: 'assistant',
      content: [{ type: 'output_text', text: 'four' }],
    })
    t.match(await items.delete(four, conversation), { id, object: 'conversation', metadata: {} })
    await rejectsWith(t, items.retrieve(four, conversation), 404, {
      type: 'invalid_request_error',
      message: new RegExp(four),
    })
    await rejectsWith(t, items.delete(four, conversation), 404)
    t.equal(textOf(await items.retrieve(five, conversation)), 'five', 'by its id')
    // Concurrent deletions in one turn do not undo each other.
    await Promise.all([items.delete(three, conversation), items.delete(five, conversation)])
    t.same(await allTexts(id), ['one', 'two'])
  },
)

t.test('conversation items: include answers, and deleted ones are not sent again', async t => {
  const { id } = await ownClient.conversations.create()
  await upstream.script(
    'gp',
    plainReply(responseBody('resp_i1', 'Ada')),
    plainReply(responseBody('resp_i2', 'Who?')),
  )
  await ownClient.responses.create({ model: 'gp', input: 'A name?', conversation: id })
  const [ada] = (await items.list(id)).data
  t.equal(ada && textOf(ada), 'Ada')
  await items.create(id, { items: [messageItem('user', 'I have met her.')] })
  await items.delete(ada?.id ?? '', { conversation_id: id })
  await ownClient.responses.create({ model: 'gp', input: 'And you?', conversation: id })
  const input = JSON.stringify((await sentBody('gp')).input)
  t.match(input, /A name\?.*I have met her.*And you/)
  t.notMatch(input, 'Ada')
  t.same(await allTexts(id), ['A name?', 'I have met her.', 'And you?', 'Who?'])
})

t.test('conversation: an update replaces its metadata', async t => {
  const { id } = await ownClient.conversations.create({ metadata: { a: 'b' } })
  t.match(await ownClient.conversations.update(id, { metadata: { c: 'd' } }), {
    id,
    metadata: { c: 'd' },
  })
  t.same((await ownClient.conversations.retrieve(id)).metadata, { c: 'd' })
  t.same((await ownClient.conversations.update(id, { metadata: null })).metadata, {})
})

t.test('conversation: refuses invalid requests and other accounts', async t => {
  const { id } = await ownClient.conversations.create({ items: [messageItem('user', 'mine')] })
  const [item] = (await items.list(id)).data
  const conversation = { conversation_id: id }
  await rejectsWith(t, items.create(id, { items: [] }), 400, { param: 'items' })
  await rejectsWith(t, items.create(id, {} as never), 400, { param: 'items' })
  await rejectsWith(t, items.create(id, { items: [{ content: 'x' }] as never }), 400)
  await rejectsWith(t, items.create(id, { items: Array(21).fill(messageItem('user', 'x')) }), 400, {
    param: 'items',
  })
  await rejectsWith(
    t,
    items.create(id, { items: [messageItem('user', 'x'.repeat(300_000))] }),
    400,
    {
      param: 'items',
    },
  )
  await rejectsWith(t, items.retrieve('msg_none', conversation), 404)
  await rejectsWith(t, items.create('conv_none', { items: [messageItem('user', 'x')] }), 404)
  await rejectsWith(t, ownClient.conversations.update('conv_none', { metadata: {} }), 404)
  for (const call of [
    () => otherClient.conversations.items.retrieve(item?.id ?? '', conversation),
    () => otherClient.conversations.items.delete(item?.id ?? '', conversation),
    () => otherClient.conversations.items.create(id, { items: [messageItem('user', 'x')] }),
    () => otherClient.conversations.update(id, { metadata: {} }),
  ])
    await rejectsWith(t, call(), 404)
  t.same(await allTexts(id), ['mine'])
})
