/** Deliveries of webhooks, for operators, with replay. */
import { useState } from 'preact/hooks'
import type { DeliveryRow } from '../../../../views.ts'
import { callData } from '../../api.ts'
import type { PageProps } from '../../page.ts'
import { Filter } from '../../parts/list.tsx'
import { PageHead } from '../../parts/page.tsx'
import { actionColumn } from '../../parts/row-actions.tsx'
import { Empty } from '../../parts/states.tsx'
import {
  accountColumn,
  type Column,
  column,
  envelopePage,
  Table,
  useRows,
} from '../../parts/table.tsx'
import { toast } from '../../parts/toast.tsx'
import { type TextKey, text } from '../../texts.ts'

const STATES = ['pending', 'delivered', 'failed'] as const

const Deliveries = ({ place: { query } }: PageProps) => {
  const [round, setRound] = useState(0)
  const state = query.get('state') ?? ''
  const account = query.get('account') ?? ''
  const path = `/api/admin/webhooks?${new URLSearchParams({ state, account })}`
  const rows = useRows<DeliveryRow>(path, envelopePage, round)
  const replay = (event: string) =>
    callData('POST', '/api/admin/webhooks/replay', { event })
      .then(() => {
        toast(text('deliveries.replayed'))
        setRound(round => round + 1)
      })
      .catch(error => toast(error.message))
  return (
    <>
      <PageHead title={text('page.deliveries')} />
      <div class="filters">
        <Filter name="account" label={text('column.account')} query={query} isSearch />
        <Filter
          name="state"
          label={text('column.state')}
          query={query}
          options={STATES.map(each => [each, text(`state.${each}` as TextKey)])}
        />
      </div>
      <Table
        name={text('page.deliveries')}
        of={rows}
        columns={columnsOf(replay)}
        keyOf={({ id }) => id}
        empty={<Empty title={text('deliveries.empty')} help={text('deliveries.empty.help')} />}
      />
    </>
  )
}
export default Deliveries

const columnsOf = (onReplay: (id: string) => void): readonly Column<DeliveryRow>[] => [
  column(text('column.created'), ({ created }) => created, 'time', { isWide: true }),
  column(text('deliveries.event'), ({ id }) => id, 'id', { isWidest: true }),
  accountColumn(),
  {
    title: text('deliveries.receiver'),
    cell: ({ receiver }) => (
      <span class="ellipsis" title={receiver}>
        {receiver || '–'}
      </span>
    ),
    csv: ({ receiver }) => receiver,
  },
  column(text('column.state'), ({ state }) => state, 'state'),
  column(text('notifications.attempts'), ({ attempts }) => attempts, 'plain', {
    isNumber: true,
    isWide: true,
  }),
  {
    title: text('notifications.last'),
    cell: ({ outcome, status, last }) => (
      <span class="nowrap" title={last ?? ''}>
        {outcome ?? '–'} {status ?? ''}
      </span>
    ),
    csv: ({ outcome, status }) => [outcome, status].filter(each => each !== null).join(' '),
    isWide: true,
  },
  actionColumn(
    ({ id }) => id,
    ({ id, state }) =>
      state === 'pending' ? [] : [{ label: text('deliveries.replay'), run: () => onReplay(id) }],
  ),
]
