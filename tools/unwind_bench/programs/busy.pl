# Text, hashes, sorting with a comparison in Perl, recursion.
use strict;
use warnings;

sub tree {
	my ($depth, $seed) = @_;
	return { leaf => $seed, text => sprintf("item %05d", $seed) } unless $depth;
	return { left => tree($depth - 1, $seed * 2), right => tree($depth - 1, $seed * 2 + 1) };
}

sub leaves {
	my ($node) = @_;
	return ($node) if exists $node->{leaf};
	return (leaves($node->{left}), leaves($node->{right}));
}

while (1) {
	my @sorted = sort { reverse($a->{text}) cmp reverse($b->{text}) } leaves(tree(9, 1));
	my $text = join(",", map { "$_->{text}=$_->{leaf}" } @sorted);
	my %seen;
	$seen{$1 % 97} += length $2 while $text =~ /item (\d+)=(\d+)/g;
	$text =~ s/(\d+)/$seen{$1 % 97}/ge;
}
