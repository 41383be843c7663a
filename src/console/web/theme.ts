/**
 * Runs before the first paint, so that a page in the chosen theme never flashes in the other one. A file of its own
 * because the content security policy allows no script in the page; nothing may be imported here.
 */
const chosen = localStorage.getItem('theme')
if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset['theme'] = chosen
