/** The price of a call: its lines, the formula, and what was given back or not covered. */
import type { ReceiptLine } from '../../../views.ts'
import { formatNumber } from '../format.ts'
import { text } from '../texts.ts'
import { TableBox } from './table.tsx'
import { CodeBox, Money, useCurrency } from './values.tsx'

interface PriceProps {
  readonly lines: readonly ReceiptLine[]
  readonly formula: string | null
  readonly cost: string
  readonly refunded: string
  readonly uncollected: string
  readonly planned: string
  readonly planned_tokens: number | null
  readonly usage: Readonly<Record<string, number>> | null
}

export const Price = (props: PriceProps) => {
  const { lines, formula, planned, planned_tokens: tokens, refunded, uncollected } = props
  const currency = useCurrency()
  return (
    <section class="card" aria-label={text('call.price')}>
      <h2>{text('call.price')}</h2>
      {lines.length === 0 ? <p class="muted">{text('call.no-lines')}</p> : <Lines {...props} />}
      {formula && <CodeBox text={formula} />}
      {Number(planned) > 0 && (
        <p>
          {text('call.planned')}: <Money amount={planned} /> {currency}
          {tokens !== null && ` (${text('plan.tokens', { count: formatNumber(tokens) })})`}
        </p>
      )}
      {Number(refunded) > 0 && (
        <p>
          {text('column.refunded')}: <Money amount={refunded} /> {currency}
        </p>
      )}
      {Number(uncollected) > 0 && (
        <p class="warning">
          {text('call.uncollected')}: <Money amount={uncollected} /> {currency}
        </p>
      )}
    </section>
  )
}

const Lines = ({ lines, cost, usage }: PriceProps) => {
  const currency = useCurrency()
  return (
    <TableBox name={text('call.price')}>
      <table>
        <thead>
          <tr>
            <th scope="col">{text('call.meter')}</th>
            <th scope="col" class="number">
              {text('call.quantity')}
            </th>
            <th scope="col" class="number">
              {text('call.unit-price')}
            </th>
            <th scope="col" class="number">
              {text('column.amount')} ({currency})
            </th>
          </tr>
        </thead>
        <tbody>
          {lines.map(({ meter, quantity, price, per, amount }) => (
            <tr key={`${meter} ${price}`}>
              <td>{meter}</td>
              <td class="number">{String(quantity ?? usage?.[meter] ?? '')}</td>
              <td class="number">{per ? `${price} / ${per}` : price}</td>
              <td class="number">
                <Money amount={amount} />
              </td>
            </tr>
          ))}
          <tr>
            <td colSpan={3}>{text('column.cost')}</td>
            <td class="number">
              <strong>
                <Money amount={cost} />
              </strong>
            </td>
          </tr>
        </tbody>
      </table>
    </TableBox>
  )
}
